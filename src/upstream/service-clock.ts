import type { Clock } from '../base/clock.ts'
import { clockSkewMs } from './http/answer.ts'
import type { ProxySettings } from './http/dispatcher.ts'
import { Http } from './http/http.ts'

interface ServiceClock {
  readonly status: number
  /** Our clock minus the service's, in ms, accurate to about a second. Null if the answer has no `Date`. */
  readonly aheadMs: number | null
}

const TIMEOUTS = { connectMs: 5_000, headersMs: 10_000, overallMs: 15_000 }
const BODY_LIMIT_BYTES = 1 << 20

/**
 * Sends `GET /broker/me` without a token. Any answer shows that the service is reachable. Its `Date` header shows
 * the service's time.
 * @throws UpstreamTransientError if no answer arrives.
 * @throws the reason of `signal` when it aborts.
 */
export async function readServiceClock(baseUrl: string, proxy: ProxySettings, clock: Clock, signal: AbortSignal): Promise<ServiceClock> {
  const http = new Http({ baseUrl, proxy, timeouts: TIMEOUTS, bodyLimitBytes: BODY_LIMIT_BYTES })
  try {
    const sentAt = clock.now()
    const { status, headers } = await http.send({ operation: 'me', submissionId: null, withCursor: false }, { headers: {} }, signal)
    const skewMs = clockSkewMs(headers, sentAt, clock.now())
    return { status, aheadMs: skewMs === undefined ? null : -skewMs }
  } finally {
    await http.close()
  }
}
