import { Secret, secretForms, secretsOfQuery } from '../base/secret.ts'
import type { Config } from './config.ts'

/** Shorter secrets aren't masked everywhere, because they would match inside unrelated words. */
const SHORTEST = 8

/**
 * @returns all secrets of the settings, and the secret parts of URLs, in each form in which they could appear in a text. The log and
 * other output mask them.
 */
export function secretValues(config: Partial<Config>): string[] {
  return [...new Set(formsIn(config, []))].filter((form) => form.length >= SHORTEST)
}

/** @param siblings texts next to the value: a user name may be sent together with its secret. */
function* formsIn(value: unknown, siblings: readonly string[]): Generator<string> {
  if (value instanceof Secret) yield* secretForms(value.reveal(), siblings)
  else if (typeof value === 'string') yield* value.includes('://') ? secretsOfQuery(value) : []
  else if (typeof value === 'object' && value !== null) {
    const parts = Object.values(value)
    const texts = parts.filter((part) => typeof part === 'string')
    for (const part of parts) yield* formsIn(part, texts)
  }
}
