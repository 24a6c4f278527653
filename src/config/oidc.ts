import type { SecretText } from '../base/secret.ts'
import { plainTextAt } from './destinations.ts'
import type { Role } from './schema/roles.ts'
import type { Settings } from './schema/schema.ts'
import type { Tree } from './sources/reading.ts'

/** A provider of OpenID Connect by which people sign in to the ops port. */
export interface OidcConfig {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: SecretText
  /** What people call it. */
  readonly name: string
  /** The claim whose values give roles. */
  readonly claim: string
  readonly scope: string
  readonly roles: Readonly<Record<string, Role>>
}

/** @returns the settings from the validated section of the file; undefined when it has none. */
export function oidcOf(settings: Settings['ops']['oidc']): OidcConfig | undefined {
  if (settings === undefined) return undefined
  const { client_id: clientId, client_secret: clientSecret, ...others } = settings
  return { ...others, clientId, clientSecret }
}

/** One problem when the secret stands in the settings file itself. */
export function plainOidcSecret(tree: Tree, references: ReadonlySet<string>): string[] {
  return plainTextAt(tree, [['ops', 'oidc', 'client_secret']], references)
}
