import { z } from 'zod'
import { auditAction } from '../../../store/operators/actions.ts'
import { destinationNamed } from '../../actions/destinations.ts'
import { diagnose } from '../../doctor/doctor.ts'
import { name } from '../../operations/inputs.ts'
import { answersOfAction } from '../api/answers.ts'
import type { AdminParts, Api } from '../api/parts.ts'
import { pageOf, whole } from '../api/schemas.ts'

const finding = z
  .object({
    about: z.string(),
    ok: z.boolean().nullable().meta({ description: 'null: not checked' }),
    fails: z
      .boolean()
      .meta({ description: 'whether something is wrong, or should have been checked and could not be: the command ends with 1' }),
    text: z.string().meta({ description: 'what is right, what is wrong and what to do, or what was not checked and why' }),
  })
  .meta({ id: 'Finding' })

const schema = {
  summary: 'look whether everything works: database, accounts, the way of the deliveries, destinations',
  description:
    'Each destination gets one harmless try, and the public address, where there is one, a signed delivery. It can take a minute.',
  tags: ['status'],
  body: z.strictObject({ destination: name.optional().meta({ description: 'only this one' }) }).nullish(),
  response: answersOfAction('what was looked at', pageOf(finding)),
}

/** `POST /doctor` */
export function addDoctor(api: Api, p: AdminParts): void {
  api.post('/doctor', { schema }, async ({ body, who }) => {
    const { db, clock, log, signal } = p
    const config = p.config()
    const target = body?.destination ?? null
    const only = target === null ? null : destinationNamed(config, target)
    const { found } = await auditAction(db, { who, action: 'doctor', target, detail: {} }, async () => {
      // By a store of its own, as the command does: this one is woken all the time, whether or not notifications arrive.
      const findings: z.output<typeof finding>[] = []
      for await (const each of diagnose({ config, clock, log, host: { signal } }, only)) findings.push(each)
      const count = (wanted: boolean | null) => findings.filter(({ ok }) => ok === wanted).length
      return { found: findings, detail: { looked: findings.length, wrong: count(false), unchecked: count(null) } }
    })
    return whole(found)
  })
}
