import type { words } from '../../../src/sandbox/service/unshown-choices.ts'
import { Endpoint } from '../support.ts'
import type { world } from '../writer.ts'

type Made = Awaited<ReturnType<typeof world>>
type Fields = Readonly<Record<string, unknown>>

/** A submission with lanes of all programs, a carrier session, a source offer, a bound lane and questions. */
async function played({ sandbox, writer }: Made) {
  const [id = ''] = sandbox.submissionIds('default')
  while (sandbox.story.step() !== null);
  const path = `/broker/submissions/${id}`
  const get = async (below: string) => (await writer.get(`${path}${below}`)).body
  return { id, path, get }
}

async function everywhere({ sandbox, writer }: Made, below: string) {
  while (sandbox.story.step() !== null);
  const all = []
  for (const id of sandbox.submissionIds('default')) all.push((await writer.get(`/broker/submissions/${id}${below}`)).body)
  return all
}

const keysOf = (value: unknown) => Object.keys(value as object).sort()

async function policy(made: Made): Promise<Fields> {
  const { policies } = (await everywhere(made, '')).find((detail) => detail.policies.length > 0)
  const { policy_id, id } = policies[0]
  return (await made.writer.get(`/broker/policies/${policy_id ?? id}`)).body
}

async function insured(made: Made): Promise<{ submissions: Fields[] }> {
  const { insured_id } = await (await played(made)).get('')
  return (await made.writer.get(`/broker/insureds/${insured_id}`)).body
}

async function delivered({ sandbox }: Made) {
  const endpoint = await Endpoint.open()
  sandbox.account('default').target = endpoint.url
  const id = sandbox.addSubmission('default')
  const market = { name: 'Harborline', lines: ['general_liability', 'umbrella'], lane_id: null, category: 'binding' } as const
  sandbox.addEvent('default', id, { type: 'market_attached', market, occurred_at: '2026-01-01T00:00:00.123456Z' })
  await sandbox.deliveries.idle()
  const { events } = JSON.parse(endpoint.arrivals.at(-1)?.body ?? '{}')
  return events[0]
}

export const variantProbes = {
  oauth_errors: async ({ sandbox }: Made) => {
    const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: 'bac_nobody', client_secret: 'x' })
    return keysOf(await (await fetch(`${sandbox.baseUrl}/oauth/token`, { method: 'POST', body })).json())
  },
  list_id_field: async (made: Made) => {
    const [submissions, insureds] = [await made.writer.get('/broker/submissions'), await made.writer.get('/broker/insureds')]
    return [keysOf(submissions.body.items[0]), keysOf(insureds.body[0])]
  },
  session_id_field: async (made: Made) => (await everywhere(made, '/api-quotes/sessions')).flat().map(keysOf),
  sessions_list: async (made: Made) => (await everywhere(made, '/api-quotes/sessions')).map((body) => [Array.isArray(body), keysOf(body)]),
  detail_id_field: async (made: Made) => (await everywhere(made, '')).flatMap(({ policies }) => policies.map(keysOf)),
  insured_submission_id_field: async (made: Made) => (await insured(made)).submissions.map(keysOf),
  policy_submission_id: async (made: Made) => 'submission_id' in (await policy(made)),
  policy_lines_field: async (made: Made) => keysOf(await policy(made)),
  nulls: async (made: Made) => JSON.stringify(await everywhere(made, '/requirements')).includes(':null'),
  null_fields: async (made: Made) => [
    (await everywhere(made, '/requirements')).map(({ effective_date, rail }) => [effective_date, rail?.lanes[0]?.program]),
    (await everywhere(made, '/application-workspace')).map(({ applications, facts }) => [
      facts === null,
      applications.map((one: Fields) => one['connection_id']),
    ]),
  ],
  legacy_workspace_id: async ({ sandbox, writer }: Made) =>
    (await writer.get(`/broker/submissions/${sandbox.addSubmission('default')}/application-workspace`)).body.workspace_id === null,
  partial_view: async (made: Made) =>
    (await everywhere(made, '/requirements')).map(({ rail, assessment }) => [rail === null, assessment === null]),
  programs_of_lane: async (made: Made) =>
    (await everywhere(made, '/requirements')).map(({ assessment, markets }) => [assessment?.programs.length, markets.length]),
  option_values: async (made: Made) => JSON.stringify(await everywhere(made, '/outstanding-requirements')).includes('"ssn"'),
  offer_urls: async (made: Made) => JSON.stringify(await everywhere(made, '/requirements')).includes('signature='),
  delivered_times: async (made: Made) => (await delivered(made)).occurred_at.length,
  delivered_lines: async (made: Made) => (await delivered(made)).market.lines,
  delivered_market_name: async (made: Made) => (await delivered(made)).market.name,
  intake_file_field: async (made: Made) => {
    const answers = []
    for (const field of ['file', 'files', 'documents']) {
      const form = new FormData()
      form.append('producer_email', made.writer.producer)
      form.append(field, new Blob(['%PDF-1.7'], { type: 'application/pdf' }), `${field}.pdf`)
      const init = { method: 'POST', body: form, headers: made.writer.headers }
      answers.push((await fetch(`${made.sandbox.baseUrl}/broker/intake`, init)).status)
    }
    return answers
  },
} satisfies Partial<Record<keyof typeof words, (made: Made) => unknown>>
