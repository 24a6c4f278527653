import { type ActionDetail, auditedDb } from '../../store/operators/actions.ts'
import type { ActionContext } from './context.ts'

/** Notes that somebody is shown what is masked otherwise. Called before it is handed out: whoever cannot be noted is shown nothing. */
export async function noteShowing(a: ActionContext, action: string, target: string | null, detail: ActionDetail): Promise<void> {
  await auditedDb(a.db, { who: a.who, action, target, detail }).write('showing-noted', async () => undefined)
}
