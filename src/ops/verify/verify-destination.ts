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
  /** Aborts what is in flight; what is stored stays. */
  readonly signal: AbortSignal
}

/** Why the targets of a kind cannot be asked. */
const unasked: Readonly<Record<DestinationConfig['kind'], string>> = {
  webhook: 'a webhook takes what it is sent, and tells nobody what it has',
  http: 'it has neither check nor lookup',
  adapter: 'the AMS does not list what it has',
  queue: 'whoever reads the queue takes what is in it',
  file: 'whoever reads the files takes them away',
}

/**
 * Asks a destination for what it took. Meanwhile those that send to it leave it a part of their rate.
 * @throws MismatchError for a destination that cannot be asked; NotFoundError for one that was never served; ConflictError while it is stopped.
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
    if (verify === undefined) throw new MismatchError([`destination ${name} cannot be asked what it has: ${unasked[destination.kind]}`])
    const { state } = await knownDestination(db.read, name)
    if (state !== 'active')
      throw new ConflictError([`destination ${name} is ${state}, so it is not asked either; resume it, and verify it then`])
    const gate = new DestinationGate({ ...parts, destination })
    const looksFirst = lookUp !== undefined && !destination.idempotent
    const run = () => new Verification({ ...parts, destination, verify, lookupAfterMs, gate, looksFirst }, request).run()
    try {
      return await (destination.rps === null ? run() : besideSenders(parts, gate, run))
    } finally {
      await gate.flush()
    }
  })
}

/** Does `work` while this verification is registered as one more that uses the rate of destinations. */
async function besideSenders<T>({ db, log, version }: VerifyParts, gate: DestinationGate, work: () => Promise<T>): Promise<T> {
  const done = new AbortController()
  const entry = { id: `${db.processId}-${randomUUID().slice(0, 8)}`, role: 'verify', version } as const
  const heartbeat = new Heartbeat(db, log, entry, ({ pushing }) => gate.shareAmong(pushing), { looksOnly: true })
  await heartbeat.beat()
  const beating = heartbeat.run(done.signal)
  // Awaited below; until then its rejection must not count as unhandled.
  beating.catch(() => undefined)
  try {
    return await work()
  } finally {
    done.abort()
    await beating
  }
}
