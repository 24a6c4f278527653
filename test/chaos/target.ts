import type { ChangeRow } from '../tools/mirror.ts'

/** Short delays, and enough of them that no temporary fault dead-letters a change. */
const SCHEDULE = Array.from({ length: 50 }, () => '50ms')

export const COMMON = { start: 0, backfill: true, allow_private: true, timeout: '2s', schedule: SCHEDULE } as const

export interface Target {
  readonly destination: { readonly name: string } & Readonly<Record<string, unknown>>
  readonly env: Readonly<Record<string, string>>
  /** Whether the destination gets the change. */
  wants(change: ChangeRow): boolean
  /** Ids in the order they were taken, with repetitions. */
  taken(): readonly string[]
  /** Whether a duplicate does harm. */
  readonly once: boolean
  /** The client that all submissions must be mapped to. */
  readonly client?: string
  /** Withdraws the credential and restores it; the emulator's other faults begin. */
  withdraw?(): void
  giveBack?(): void
  /** Planned faults that haven't happened yet. */
  left(): number
  heal(): void
  close(): Promise<void>
}

const RECORDS = new Set(['market_events', 'thread_messages'])

export const isRecord = ({ entity, operation }: ChangeRow): boolean => RECORDS.has(entity) && operation !== 'gone'
export const isNewRecord = (change: ChangeRow): boolean => isRecord(change) && change.operation === 'insert'
export const isEvent = ({ entity }: ChangeRow): boolean => entity === 'market_events'
