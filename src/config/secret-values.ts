import { Secret, secretForms, secretsOfQuery } from '../base/secret.ts'
import type { Config } from './config.ts'

/** Length of the shortest secret that is masked everywhere. A shorter secret would match inside unrelated words. */
const SHORTEST = 8

/**
 * @returns all secrets in the settings, including secret parts of URLs, in each form that could appear in a text.
 * The log and other output mask these texts.
 */
export function secretValues(config: Partial<Config>): string[] {
  return [...new Set(formsIn(config, []))].filter((form) => form.length >= SHORTEST)
}

/** @param siblings texts next to the value. One of them may be a user name that is sent together with the secret. */
function* formsIn(value: unknown, siblings: readonly string[]): Generator<string> {
  if (value instanceof Secret) yield* secretForms(value.reveal(), siblings)
  else if (typeof value === 'string') yield* value.includes('://') ? secretsOfQuery(value) : []
  else if (typeof value === 'object' && value !== null) {
    const parts = Object.values(value)
    const texts = parts.filter((part) => typeof part === 'string')
    for (const part of parts) yield* formsIn(part, texts)
  }
}
