import { z } from 'zod'
import { destinationNamed } from '../actions/names.ts'
import { diagnose } from '../doctor/doctor.ts'
import { name, pageOf, whole } from './inputs.ts'
import { operation } from './operation.ts'

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

const doctor = operation({
  name: 'doctor',
  summary: 'look whether everything works: database, accounts, the way of the deliveries, destinations',
  description:
    'Each destination gets one harmless try, and the public address, where there is one, a signed delivery. It can take a minute.',
  role: 'admin',
  http: 'POST /doctor',
  withoutCommand: 'the terminal prints each finding as soon as there is one, and works without a database',
  input: z.strictObject({ destination: name.optional().meta({ description: 'only this one' }) }),
  output: pageOf(finding),
  run: async (c, { destination }) => {
    const only = destination === undefined ? null : destinationNamed(c.config, destination)
    const { found } = await c.attempt({ action: 'doctor', target: destination ?? null, detail: {} }, async () => {
      // By a store of its own, as the command does: this one is woken all the time, whether or not notifications arrive.
      const findings: z.output<typeof finding>[] = []
      for await (const each of diagnose({ ...c, host: c }, only)) findings.push(each)
      const count = (wanted: boolean | null) => findings.filter(({ ok }) => ok === wanted).length
      return { found: findings, detail: { looked: findings.length, wrong: count(false), unchecked: count(null) } }
    })
    return whole(found)
  },
})

export const operations = [doctor]
