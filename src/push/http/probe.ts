import type { HttpDestination } from '../../config/config.ts'
import type { ProbeResult } from '../contract/delivery.ts'
import { type Answer, answered, type Failure, isSuccess } from '../contract/outcomes.ts'

/** @returns the result of a probe in one sentence: what is right, or what is wrong and what to do. */
export function explainProbe(
  reply: { readonly answer: Answer } | { readonly failure: Failure },
  destination: HttpDestination,
): ProbeResult {
  if ('failure' in reply) return { ok: false, text: failureText(reply.failure) }
  const { answer } = reply
  const { status } = answer
  const what = `it ${answered(answer)}`
  const compare = 'compare the URL and the settings of the destination with what the vendor gave'
  if (isSuccess(status) && answer.headers['content-type']?.startsWith('text/html'))
    return { ok: false, text: `${what} with a web page: ${compare}` }
  if (isSuccess(status)) return { ok: true, text: `${what}: it is reached and takes the credentials` }
  if (status === 401) return { ok: false, text: `${what}: it refuses the credentials; compare those under auth with what the vendor gave` }
  if (status === 403)
    return { ok: false, text: `${what}: the credentials are right but may not do this; ask the agency whether it still allows it` }
  if (status === 404) return { ok: false, text: `${what}: ${compare}` }
  if (destination.suspendOn.includes(status)) return { ok: false, text: `${what}: that suspends the destination (suspend_on)` }
  if (status === 429) return { ok: false, text: `${what}: it asked for a pause; try again later` }
  return {
    ok: false,
    text: status >= 500 ? `${what}: the server fails; try again later` : `${what}: see the probe request of the destination`,
  }
}

function failureText(failure: Failure): string {
  if (failure.type === 'suspend') return `${failure.error}; compare those under auth with what the vendor gave`
  return failure.type === 'failed' || failure.type === 'throttled' ? failure.error : `it cannot be reached: ${failure.error}`
}
