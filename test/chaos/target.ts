import type { ChangeRow } from '../tools/mirror.ts'

/** Waiting times between tries: short, and so many that nothing that passes by itself becomes a dead letter. */
const SCHEDULE = Array.from({ length: 50 }, () => '50ms')

/** What every destination of the chaos has. */
export const COMMON = { start: 0, backfill: true, allow_private: true, timeout: '2s', schedule: SCHEDULE } as const

/** One system that changes are pushed to, and what goes wrong with it. */
export interface Target {
  /** As the settings file has it; its name is in it. */
  readonly destination: { readonly name: string } & Readonly<Record<string, unknown>>
  /** The secrets that the settings refer to. */
  readonly env: Readonly<Record<string, string>>
  /** Which changes it gets. */
  wants(change: ChangeRow): boolean
  /** The ids of what it has taken, in the order in which it did, repetitions too. */
  taken(): readonly string[]
  /** Whether a second delivery would do harm. */
  readonly once: boolean
  /** Whether its submissions must be mapped to this client. */
  readonly client?: string
  /** Its credential is withdrawn, and given back; what its emulator can do beside begins. */
  withdraw?(): void
  giveBack?(): void
  /** How much of what is planned has not gone wrong yet. */
  left(): number
  /** From now on nothing goes wrong. */
  heal(): void
  close(): Promise<void>
}

const RECORDS = new Set(['market_events', 'thread_messages'])

/** Events and messages, as systems that take notes get them. */
export const isRecord = ({ entity, operation }: ChangeRow): boolean => RECORDS.has(entity) && operation !== 'gone'
export const isNewRecord = (change: ChangeRow): boolean => isRecord(change) && change.operation === 'insert'
export const isEvent = ({ entity }: ChangeRow): boolean => entity === 'market_events'
