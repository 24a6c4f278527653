import type { Config } from '../../config/config.ts'
import { auditAction } from '../../store/operators/actions.ts'
import { type OperatorTest, operatorsOf } from '../alarms/operator-test.ts'
import type { ActionContext } from './context.ts'

/**
 * Sends test messages, and records that and which operators did not take one.
 * @param operator null for all. @param send sends them.
 * @throws NotFoundError when there is no such operator; then nothing is recorded.
 */
export async function auditedOperatorTests(
  a: Pick<ActionContext, 'db' | 'who'>,
  config: Pick<Config, 'operators'>,
  operator: string | null,
  send: () => Promise<OperatorTest[]>,
): Promise<OperatorTest[]> {
  operatorsOf(config, operator)
  const { tests } = await auditAction(a.db, { who: a.who, action: 'alarm.test', target: operator, detail: {} }, async () => {
    const made = await send()
    const refused = made.filter(({ ok }) => !ok).map((each) => each.operator)
    return { tests: made, detail: { sent: made.length, refused }, failed: refused.length > 0 }
  })
  return tests
}
