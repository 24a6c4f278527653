import { Secret, secretForms, secretsOfQuery } from '../base/secret.ts'
import type { Config } from './config.ts'

/** A shorter text would be masked within words that have nothing to do with it; such a secret is masked by its place alone. */
const SHORTEST = 8

/**
 * Finds the secrets by walking the settings: each `Secret`, and the secret parts of each text that is or holds a URL.
 * @returns them in each form in which they could appear in a text, for the log and all that shows texts of others to mask.
 */
export function secretValues(config: Partial<Config>): string[] {
  return [...new Set(formsIn(config, []))].filter((form) => form.length >= SHORTEST)
}

/** @param beside the texts that stand beside the value: a user name may be sent together with its secret. */
function* formsIn(value: unknown, beside: readonly string[]): Generator<string> {
  if (value instanceof Secret) yield* secretForms(value.reveal(), beside)
  else if (typeof value === 'string') yield* value.includes('://') ? secretsOfQuery(value) : []
  else if (typeof value === 'object' && value !== null) {
    const parts = Object.values(value)
    const texts = parts.filter((part) => typeof part === 'string')
    for (const part of parts) yield* formsIn(part, texts)
  }
}
