import { randomUUID } from 'node:crypto'
import type { Config, DestinationConfig } from '../../config/config.ts'
import { DestinationGate } from '../../push/send/destination-gate.ts'
import { Verification, type VerificationReport, type VerificationRequest } from '../../push/verify/verification.ts'
import type { ServiceParts } from '../../store/engine/db.ts'
import { knownDestination } from '../actions/names.ts'
import { withKind } from '../doctor/destination.ts'
import { ConflictError, MismatchError } from '../output/refusals.ts'
import { Heartbeat } from '../status/heartbeat.ts'

export interface VerifyParts extends ServiceParts {
  readonly config: Config
  readonly version: string
  /** Aborts the verification. Stored answers remain. */
  readonly signal: AbortSignal
}

/** Why a destination of each kind can't be verified, or what to set to make it possible. */
const unverifiable: Readonly<Record<DestinationConfig['kind'], string>> = {
  webhook: 'webhooks cannot be queried',
  http: 'set check or lookup',
  ams360: 'AMS360 does not list its notes',
  queue: 'readers remove messages from the queue',
  file: 'readers remove the files',
}

/**
 * Verifies which delivered changes a destination has.
 * Running senders leave a share of the destination's request rate for the verification.
 * @throws MismatchError if the destination can't be verified.
 * @throws NotFoundError if `serve` never used the destination.
 * @throws ConflictError if the destination is paused or suspended.
 */
export async function verifyDestination(
  parts: VerifyParts,
  destination: DestinationConfig,
  request: VerificationRequest,
): Promise<VerificationReport> {
  const { db, config } = parts
  const { name } = destination
  return await withKind(parts, config, destination, async (kind) => {
    const { verify, lookUp, lookupAfterMs } = kind
    if (verify === undefined) throw new MismatchError([`destination ${name} cannot be verified: ${unverifiable[destination.kind]}`])
    const { state } = await knownDestination(db.read, name)
    if (state !== 'active') throw new ConflictError([`destination ${name} is ${state}; resume it before verifying it`])
    const gate = new DestinationGate({ ...parts, destination })
    const looksFirst = lookUp !== undefined && !destination.idempotent
    const run = () => new Verification({ ...parts, destination, verify, lookupAfterMs, gate, looksFirst }, request).run()
    try {
      return await (destination.rps === null ? run() : sharingRates(parts, gate, run))
    } finally {
      await gate.flush()
    }
  })
}

/** Registers this verification as a process while `work` runs, so that it gets a share of the destination's rate. */
async function sharingRates<T>({ db, log, version }: VerifyParts, gate: DestinationGate, work: () => Promise<T>): Promise<T> {
  const done = new AbortController()
  const entry = { id: `${db.processId}-${randomUUID().slice(0, 8)}`, role: 'verify', version } as const
  const heartbeat = new Heartbeat(db, log, entry, ({ pushing }) => gate.shareAmong(pushing), { looksOnly: true })
  await heartbeat.beat()
  const beating = heartbeat.run(done.signal)
  // `beating` is awaited only after `work`. Without this handler, a rejection during `work` would end the process.
  beating.catch(() => undefined)
  try {
    return await work()
  } finally {
    done.abort()
    await beating
  }
}
