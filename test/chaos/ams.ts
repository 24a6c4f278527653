import { startAms360 } from '../emulators/ams360.ts'
import { startEpic } from '../emulators/applied-epic.ts'
import { startHawkSoft } from '../emulators/hawksoft.ts'
import { mixed } from './faults.ts'
import { COMMON, isEvent, isNewRecord, isRecord, type Target } from './target.ts'
import { planned } from './templates.ts'

const FAULTS = { refuse: 3, busy: 1, drop: 2, lose: 2, hang: 1, take: 12 }
/** Presets spare the vendor; here nobody has the time. */
const FAST = { ...COMMON, rps: 500, allow_hosts: ['127.0.0.1'] }
/** What the brokerage writes into the field of the submission that is looked at. */
export const CUSTOMER_NUMBER = 5544
const CUSTOMER = '4491edb1-3d68-468b-8adc-0d41c04a25e9'

/** Several steps, tickets that end, customers that are looked for, and no way to ask whether a note is there. */
export async function startAms360Target(seed: string): Promise<Target> {
  const ams = await startAms360({
    agency: '8880006-1',
    user: 'wsapi',
    password: 'the-password-of-wsapi',
    customers: [{ id: CUSTOMER, number: CUSTOMER_NUMBER, name: 'Harbour Bakery LLC' }],
  })
  const settings = { agency: '8880006-1', user: 'wsapi', customer_field: 'insured_name' }
  const what = { kind: 'adapter', adapter: 'ams360', url: ams.url, settings, credentials: { password: '${AMS_PASSWORD}' } }
  const looking = { entities: ['market_events'], mapping: 'lookup', personal_fields: ['submissions.insured_name'] }
  return {
    ...planned(ams, mixed(`${seed} ams360`, FAULTS)),
    destination: { ...COMMON, name: 'ams360', ...what, ...looking },
    env: { AMS_PASSWORD: 'the-password-of-wsapi' },
    wants: isEvent,
    // Our id is the note's last word.
    taken: () => ams.notes.map(({ text }) => text.split(' ').at(-1) ?? ''),
    once: true,
    withdraw: () => ams.expire(),
  }
}

/** Looked up by our id before anything is sent again. */
export async function startEpicTarget(seed: string): Promise<Target> {
  const epic = await startEpic({
    clientId: 'the-key',
    clientSecret: 'the-secret-of-epic',
    audience: 'api.myappliedproducts.com/epic',
    clients: ['c-1'],
    policies: {},
    codes: ['code-1'],
    accessLevels: ['level-1'],
    agencies: ['agency-1'],
    branches: ['branch-1'],
    today: new Date().toISOString().slice(0, 10),
  })
  const where = { settings: { base_url: epic.url }, auth: { token_url: epic.tokenUrl } }
  const refs = (content: string) => /Reference: (\S+)$/.exec(content)?.slice(1) ?? []
  return {
    ...planned(epic, mixed(`${seed} epic`, FAULTS)),
    destination: { ...FAST, ...where, name: 'epic', preset: 'applied-epic' },
    env: {
      EPIC_CLIENT_ID: 'the-key',
      EPIC_CLIENT_SECRET: 'the-secret-of-epic',
      EPIC_ACTIVITY_CODE_ID: 'code-1',
      EPIC_AGENCY_ID: 'agency-1',
      EPIC_BRANCH_ID: 'branch-1',
      EPIC_ACCESS_LEVEL_ID: 'level-1',
    },
    wants: isRecord,
    taken() {
      const notes = Map.groupBy(
        epic.activities.flatMap((activity) => activity.notes.flatMap(({ content }) => refs(content))),
        (id) => id,
      )
      // Activities and notes lie apart: which came first is told by when it was first sent.
      const sent = epic.arrived.flatMap(({ method, body }) =>
        method === 'POST' ? (/Reference: ([\da-f-]{36})/.exec(body)?.[1] ?? []) : [],
      )
      return [...new Set(sent)].flatMap((id) => notes.get(id) ?? [])
    },
    once: true,
    client: 'c-1',
    withdraw() {
      epic.revokeTokens()
      epic.withdraw()
    },
    giveBack: () => epic.restore(),
  }
}

/** Keeps what comes twice twice, and cannot be asked; a submission waits behind a note of which nobody knows. */
export async function startHawkSoftTarget(seed: string): Promise<Target> {
  const hawksoft = await startHawkSoft({ user: 'vendor', password: 'the-secret-of-hawksoft', agency: '17', clients: ['4711'] })
  return {
    // Where a submission waits for a person, less comes than elsewhere.
    ...planned(hawksoft, mixed(`${seed} hawksoft`, { ...FAULTS, take: 4 })),
    destination: { ...FAST, name: 'hawksoft', preset: 'hawksoft', settings: { base_url: hawksoft.url }, on_dead: 'hold' },
    env: { HAWKSOFT_USER: 'vendor', HAWKSOFT_PASSWORD: 'the-secret-of-hawksoft', HAWKSOFT_AGENCY_ID: '17' },
    wants: isNewRecord,
    taken: () => hawksoft.notes.map(({ refId }) => refId),
    once: true,
    client: '4711',
    withdraw: () => hawksoft.optOut(),
    giveBack: () => hawksoft.optIn(),
  }
}
