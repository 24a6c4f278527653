import { z } from 'zod'
import { listProcesses } from '../../../store/upkeep/processes.ts'
import { time } from '../../operations/inputs.ts'
import { answers } from '../api/answers.ts'
import type { AdminParts, Api } from '../api/parts.ts'
import { pageOf, whole } from '../api/schemas.ts'

const running = z
  .object({
    process_id: z.string(),
    role: z
      .string()
      .meta({ description: '`all`, `receive`, `work` of `serve`; `sync`, `reconcile`: a command that reads from the service' }),
    version: z.string(),
    started_at: time,
    seen_at: time.meta({ description: 'its last sign of life; one that gives none for 20 s is taken for dead' }),
    is_this: z.boolean().meta({ description: 'it is the one that answers' }),
  })
  .meta({ id: 'Process' })

const list = {
  summary: 'the processes that work on the database now, the oldest first',
  tags: ['status'],
  response: answers('all processes', pageOf(running)),
}

/** `GET /processes` */
export function addProcesses(api: Api, p: AdminParts): void {
  api.get('/processes', { schema: list }, async () => {
    const processes = await listProcesses(p.db.read)
    return whole(processes.map((each) => ({ ...each, is_this: each.process_id === p.db.processId })))
  })
}
