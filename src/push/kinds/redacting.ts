import { KnownSecrets } from '../../base/log.ts'
import type { BuiltRequest, DeliveryKind, Outcome } from '../contract/delivery.ts'
import { lookupFailure, StepFailure } from '../contract/outcomes.ts'

/**
 * Wraps a kind so that its outcomes contain no secrets. A target may repeat what it received, and outcomes are stored,
 * logged, and printed.
 * @param secrets the secrets, in each form that could appear in a text.
 */
export function redacting(kind: DeliveryKind, secrets: readonly string[]): DeliveryKind {
  const known = new KnownSecrets(secrets)
  const withoutSecrets = <T extends { readonly error: string }>(failure: T): T => ({ ...failure, error: known.maskText(failure.error) })
  const redacted = (outcome: Outcome): Outcome => {
    if (outcome.type === 'not_attempted') return outcome
    if (outcome.type === 'record_taken') {
      const { body, detail, ...rest } = outcome.progress
      return { ...outcome, progress: { ...rest, body: known.maskText(body), detail: detail && known.maskText(detail) } }
    }
    if (outcome.type !== 'delivered') return withoutSecrets(outcome)
    return outcome.detail === null ? outcome : { ...outcome, detail: known.maskText(outcome.detail) }
  }
  const throwRedacted = (error: unknown): never => {
    const failure = lookupFailure(error)
    throw new StepFailure({ ...failure, error: known.maskText(failure.error) })
  }
  const maskedRequest = ({ method, url, headers, body }: BuiltRequest): BuiltRequest => {
    const masked = Object.entries(headers).map(([name, value]) => [name, known.maskText(value)])
    return { method, url: known.maskText(url), headers: Object.fromEntries(masked), body: body === null ? null : known.maskText(body) }
  }
  const { lookUp, verify, findMapping, preview } = kind
  return {
    batch: kind.batch,
    withoutSubmission: kind.withoutSubmission,
    send: async (items, signal) => (await kind.send(items, signal)).map(redacted),
    lookupAfterMs: kind.lookupAfterMs,
    lookUp:
      lookUp &&
      (async (item, signal) => {
        const found = await lookUp.call(kind, item, signal).catch(throwRedacted)
        return found && redacted(found)
      }),
    verify:
      verify &&
      (async (item, signal) => {
        const presence = await verify.call(kind, item, signal)
        return presence.type === 'undetermined' ? { ...presence, outcome: withoutSecrets(presence.outcome) } : presence
      }),
    findMapping: findMapping && ((item, signal) => findMapping.call(kind, item, signal).catch(throwRedacted)),
    preview:
      preview &&
      (async (item) => {
        const { upload, ...request } = await preview.call(kind, item)
        return { ...maskedRequest(request), ...(upload && { upload: maskedRequest(upload) }) }
      }),
    async probe(signal) {
      const { ok, text } = await kind.probe(signal)
      return { ok, text: known.maskText(text) }
    },
    close: () => kind.close(),
    // The type check fails if a member of `DeliveryKind` is missing here.
  } satisfies { [Key in keyof Required<DeliveryKind>]: DeliveryKind[Key] }
}
