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
  fails: z.boolean().describe('whether the check failed or could not be made; the command then exits with 1'),
  text: z.string().describe('the result, and what to do'),
})

type Found = z.output<typeof finding>

const exit = ({ items }: { items: readonly Found[] }) => (items.some(({ fails }) => fails) ? 1 : 0)

const doctor = operation({
  name: 'doctor',
  summary: 'check the installation: database, accounts, delivery path, destinations',
  description:
    'Sends one harmless request to each destination, and a signed delivery to PUBLIC_URL if it is set. It can take a minute. ✓ passed, ✗ failed, ' +
    '– not checked. The exit code is 1 if a check failed or could not be made.',
  role: 'admin',
  needs: ({ destination }) => (destination === undefined ? 'sending' : 'destinations'),
  http: 'POST /doctor',
  input: z.strictObject({
    destination: name.optional().describe('check only this destination and its waiting changes'),
  }),
  output: pageOf(finding),
  exit,
  run: async (c, { destination }) => {
    const only = destination === undefined ? null : destinationNamed(c.config, destination)
    const look = async () => {
      const found: Found[] = []
      c.live?.line('Checks')
      // `diagnose` opens the database itself. With the open database of `serve`, the test of LISTEN would always pass,
      // because `serve` also signals its own writes.
      for await (const each of diagnose({ ...c, host: c }, only)) {
        found.push(each)
        c.live?.text(wrapped(`${markOf(each)} ${each.about}: ${each.text}`, c.live.width, '', '  '))
      }
      return { found, detail: { looked: found.length, wrong: counted(found, false), unchecked: counted(found, null) } }
    }
    // Don't audit at the terminal, because the user may have only read access to the database.
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
    row: z.string().nullable().describe('the view; null if none could be compared, which `text` explains'),
    spec: z.string().describe('method and path'),
    result: z.enum(['agrees', 'differs', 'unchecked', 'failed']),
    more: z.array(z.string()).readonly().describe('fields and values that the service sends beyond the specification'),
  })
  .meta({ id: 'ComparedRow' })

type Compared = z.output<typeof compared>

const conformance = operation({
  name: 'doctor.conformance',
  command: 'doctor --conformance',
  summary: 'read each view of the service once and compare the answers with its specification',
  role: 'admin',
  needs: 'sending',
  http: 'POST /doctor/conformance',
  input: z.strictObject({
    account: name.optional().describe('only this account'),
    submission_id: submissionId.optional().describe('read this submission instead of the newest in the mirror'),
  }),
  output: pageOf(compared),
  exit,
  run: async (c, { account: of, submission_id: submission = null }) => {
    // Import the module only here, because importing the schemas of the specification takes time.
    const { compareService } = await import('../doctor/conformance.ts')
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
    const views = pluralize(items.filter(({ row }) => row !== null).length, 'view')
    to.line(`\n${views}: ${of('agrees')} agree, ${of('differs')} differ, ${of('unchecked')} not checked`)
  },
})

function lineOf(one: Compared): string {
  const { row, spec, result, text, more, about } = one
  if (row === null) return `${markOf(one)} ${about}: ${text}`
  const beyond = more.length === 0 ? '' : `; unknown fields or values: ${more.slice(0, 5).join(', ')}${more.length > 5 ? ' …' : ''}`
  return `${markOf(one)} ${row} (${spec}): ${result === 'unchecked' ? 'not checked: ' : ''}${text}${beyond}`
}

export const operations = [doctor, conformance]
