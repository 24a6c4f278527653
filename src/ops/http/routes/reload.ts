import { z } from 'zod'
import { auditedReload } from '../../actions/reload.ts'
import { MismatchError } from '../../output/refusals.ts'
import { answersOfAction } from '../api/answers.ts'
import type { AdminParts, Api } from '../api/parts.ts'

const reloaded = z
  .object({
    applied: z.array(z.string()).meta({ description: 'what works by other settings from now on' }),
    needs_restart: z.array(z.string()).meta({ description: 'settings that differ and stay as they were until the next start' }),
  })
  .meta({ id: 'Reloaded' })

const schema = {
  summary: 'read the settings again and go by them: secrets, destinations, timetables',
  description:
    'All or nothing: with one thing wrong nothing changes (422), and `problems` says what is wrong. It is about this process alone.',
  tags: ['settings'],
  response: answersOfAction('what changed', reloaded),
}

/** `POST /reload` */
export function addReload(api: Api, p: AdminParts): void {
  api.post('/reload', { schema }, async (request) => {
    const result = await auditedReload(p.db, request.who, p.reload)
    if (result.problems.length > 0) throw new MismatchError(result.problems)
    return { applied: [...result.applied], needs_restart: [...result.needsRestart] }
  })
}
