import { startAms360 } from '../emulators/ams360.ts'
import { startHawkSoft } from '../emulators/hawksoft.ts'
import { EPIC_ENV, startTestEpic } from '../push/presets/cases.ts'
import { mixed } from './faults.ts'
import { COMMON, isEvent, isNewRecord, isRecord, type Target } from './target.ts'
import { planned } from './templates.ts'

const FAULTS = { refuse: 3, busy: 1, drop: 2, lose: 2, hang: 1, take: 12 }
/** Presets limit the rate for the vendor; tests don't. */
const FAST = { ...COMMON, rps: 500, allow_hosts: ['127.0.0.1'] }
/** The field of the submission that the brokerage fills in. */
export const CUSTOMER_NUMBER = 5544
const CUSTOMER = '4491edb1-3d68-468b-8adc-0d41c04a25e9'

/** Several requests, expiring tickets, customer lookup, and no lookup of notes. */
export async function startAms360Target(seed: string): Promise<Target> {
  const ams = await startAms360({
    agency: '8880006-1',
    user: 'wsapi',
    password: 'the-password-of-wsapi',
    customers: [{ id: CUSTOMER, number: CUSTOMER_NUMBER, name: 'Harbour Bakery LLC' }],
  })
  const login = { agency: '8880006-1', user: 'wsapi', password: '${AMS_PASSWORD}' }
  const what = { kind: 'ams360', url: ams.url, ...login, customer_field: 'insured_name' }
  const looking = { entities: ['market_events'], mapping: 'lookup', personal_fields: ['submissions.insured_name'] }
  return {
    ...planned(ams, mixed(`${seed} ams360`, FAULTS)),
    destination: { ...COMMON, name: 'ams360', ...what, ...looking },
    env: { AMS_PASSWORD: 'the-password-of-wsapi' },
    wants: isEvent,
    // The note ends with the push's id.
    taken: () => ams.notes.map(({ text }) => text.split(' ').at(-1) ?? ''),
    once: true,
    withdraw: () => ams.expire(),
  }
}

/** Looks up each id before it sends again. */
export async function startEpicTarget(seed: string): Promise<Target> {
  const epic = await startTestEpic()
  const where = { settings: { base_url: epic.url }, auth: { token_url: epic.tokenUrl } }
  const refs = (content: string) => /Reference: (\S+)$/.exec(content)?.slice(1) ?? []
  return {
    ...planned(epic, mixed(`${seed} epic`, FAULTS)),
    destination: { ...FAST, ...where, name: 'epic', preset: 'applied-epic' },
    env: EPIC_ENV,
    wants: isRecord,
    taken() {
      const notes = Map.groupBy(
        epic.activities.flatMap((activity) => activity.notes.flatMap(({ content }) => refs(content))),
        (id) => id,
      )
      // Activities and notes are separate; their first requests give the order.
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

/** Keeps duplicates, and has no lookup; a stream waits behind an unknown note. */
export async function startHawkSoftTarget(seed: string): Promise<Target> {
  const hawksoft = await startHawkSoft({ user: 'vendor', password: 'the-secret-of-hawksoft', agency: '17', clients: ['4711'] })
  return {
    // Streams that wait for a person send fewer changes.
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
