import { z } from 'zod'
import { accountNamed, destinationNamed } from '../actions/names.ts'
import { diagnose } from '../doctor/doctor.ts'
import { markOf } from '../doctor/finding.ts'
import { record } from '../output/schema.ts'
import { pluralize, wrapped } from '../output/text.ts'
import { name, pageOf, submissionId, whole } from './inputs.ts'
import { operation } from './operation.ts'

const finding = record('Finding', {
  about: z.string(),
  ok: z.boolean().nullable().describe('null: not checked'),
  fails: z.boolean().describe('whether something is wrong, or should have been checked and could not be: the command ends with 1'),
  text: z.string().describe('what is right, what is wrong and what to do, or what was not checked and why'),
})

type Found = z.output<typeof finding>

const exit = ({ items }: { items: readonly Found[] }) => (items.some(({ fails }) => fails) ? 1 : 0)

const doctor = operation({
  name: 'doctor',
  summary: 'look whether everything works: database, accounts, the way of the deliveries, destinations',
  description:
    'Each destination gets one harmless attempt, and the public address, where there is one, a signed delivery. It can take a minute. ✓ is OK, ✗ is ' +
    'wrong, – was not checked; exit code 1 when anything is wrong, or should have been checked and could not be.',
  role: 'admin',
  needs: ({ destination }) => (destination === undefined ? 'sending' : 'destinations'),
  http: 'POST /doctor',
  input: z.strictObject({
    destination: name.optional().describe('only this destination: one harmless attempt, and what waits for it'),
  }),
  output: pageOf(finding),
  exit,
  run: async (c, { destination }) => {
    const only = destination === undefined ? null : destinationNamed(c.config, destination)
    const look = async () => {
      const found: Found[] = []
      c.live?.line('Checks')
      // By a store of its own: that of a process that serves is woken all the time, whether or not notifications arrive.
      for await (const each of diagnose({ ...c, host: c }, only)) {
        found.push(each)
        c.live?.text(wrapped(`${markOf(each)} ${each.about}: ${each.text}`, c.live.width, '', '  '))
      }
      return { found, detail: { looked: found.length, wrong: counted(found, false), unchecked: counted(found, null) } }
    }
    // At the terminal it looks at a database that may take no note.
    const { found } = await (c.isTerminal ? look() : c.attempt({ action: 'doctor', target: destination ?? null, detail: {} }, look))
    return whole(found)
  },
  print: (to, { items }) =>
    to.line(`\n${pluralize(items.length, 'check')}, ${counted(items, false)} failed, ${counted(items, null)} not checked`),
})

function counted(found: readonly Found[], wanted: boolean | null): number {
  return found.filter(({ ok }) => ok === wanted).length
}

const compared = finding
  .extend({
    row: z.string().nullable().describe('its id; null when no row could be compared, which `text` explains'),
    spec: z.string().describe('the line of the specification, in short'),
    result: z.enum(['agrees', 'differs', 'untold', 'failed']),
    more: z.array(z.string()).readonly().describe('what the service sends there beyond the specification'),
  })
  .meta({ id: 'ComparedRow' })

type Compared = z.output<typeof compared>

const conformance = operation({
  name: 'doctor.conformance',
  command: 'doctor --conformance',
  summary: 'compare the service with its specification instead, row by row, by reading alone (GET, besides the token)',
  role: 'admin',
  needs: 'sending',
  http: 'POST /doctor/conformance',
  input: z.strictObject({
    account: name.optional().describe('only this account'),
    submission_id: submissionId.optional().describe('look at this submission instead of some that the mirror knows'),
  }),
  output: pageOf(compared),
  exit,
  run: async (c, { account: of, submission_id: submission = null }) => {
    // Loaded only here: it holds all of the specification.
    const { compareService } = await import('../doctor/conformance/conformance.ts')
    // A submission belongs to one account.
    const isOne = of !== undefined || submission !== null
    const found: Compared[] = []
    for (const account of isOne ? [accountNamed(c.config, of, c.nameOf('account'))] : c.config.accounts) {
      c.live?.sentence(`Conformance of account ${account.name}, by reading ${account.baseUrl}`)
      for await (const each of compareService({ ...c, host: c }, { account, submission })) {
        found.push(each)
        c.live?.text(wrapped(lineOf(each), c.live.width, '', '  '))
      }
    }
    return whole(found)
  },
  print: (to, { items }) => {
    const of = (result: Compared['result']) => items.filter((each) => each.result === result).length
    const rows = pluralize(items.filter(({ row }) => row !== null).length, 'row')
    to.line(`\n${rows}: ${of('agrees')} agree, ${of('differs')} differ, ${of('untold')} could not be told`)
  },
})

function lineOf(one: Compared): string {
  const { row, spec, result, text, more, about } = one
  if (row === null) return `${markOf(one)} ${about}: ${text}`
  const beyond =
    more.length === 0 ? '' : `; more than the specification names: ${more.slice(0, 5).join(', ')}${more.length > 5 ? ' …' : ''}`
  return `${markOf(one)} ${row} (${spec}): ${result === 'untold' ? 'could not be told: ' : ''}${text}${beyond}`
}

/** `doctor [--conformance]` */
export const operations = [doctor, conformance]
