import type { z } from 'zod'
import type { SecretText } from '../base/secret.ts'
import { plainTextSecrets } from './destinations.ts'
import type { operatorSchema } from './schema/operator.ts'
import type { Tree } from './sources/reading.ts'

interface OperatorBase {
  /** Part of keys and a metric label: `[a-z0-9][a-z0-9_-]{0,62}`. */
  readonly name: string
  /** How often a continuing alarm is repeated. */
  readonly repeatMs: number
  /** Whether to report the end of an alarm as well. */
  readonly resolved: boolean
}

/** Receives alarms as Standard Webhooks. */
export interface WebhookOperator extends OperatorBase {
  readonly kind: 'webhook'
  readonly url: string
  readonly secret: SecretText
  /** Whether loopback, private and link-local addresses are allowed. */
  readonly allowPrivate: boolean
}

/** Receives alarms by e-mail. */
export interface EmailOperator extends OperatorBase {
  readonly kind: 'email'
  readonly host: string
  readonly port: number
  /** `starttls`: required after connecting. `implicit`: TLS from the first byte. `off`: only for a server on this machine. */
  readonly tls: 'starttls' | 'implicit' | 'off'
  /** null: no login. */
  readonly login: { readonly username: string; readonly password: SecretText } | null
  readonly from: string
  readonly to: readonly string[]
}

/** A receiver of alarms. */
export type OperatorConfig = WebhookOperator | EmailOperator

type OperatorSettings = z.output<typeof operatorSchema>

/** @returns an operator with every default filled in. */
export function operatorOf(settings: OperatorSettings): OperatorConfig {
  const { name, repeat: repeatMs, resolved } = settings
  const base = { name, repeatMs, resolved }
  if (settings.kind === 'webhook') {
    const { kind, url, secret, allow_private: allowPrivate } = settings
    return { ...base, kind, url, secret, allowPrivate }
  }
  const { kind, host, tls, username, password, from, to } = settings
  const port = settings.port ?? (tls === 'implicit' ? 465 : tls === 'off' ? 25 : 587)
  const login = username === undefined || password === undefined ? null : { username, password }
  return { ...base, kind, host, port, tls, login, from, to }
}

/** @returns every secret of an operator, in each form in which it could appear in a text. */
export function secretsOfOperator(operator: OperatorConfig): string[] {
  if (operator.kind === 'webhook') return [operator.secret.reveal().replace(/^whsec_/, '')]
  const { login } = operator
  if (login === null) return []
  const password = login.password.reveal()
  return [password, Buffer.from(password).toString('base64'), Buffer.from(`\0${login.username}\0${password}`).toString('base64')]
}

/** As `plainTextSecrets`, for operators. */
export function plainOperatorSecrets(tree: Tree, references: ReadonlySet<string>): string[] {
  return plainTextSecrets(tree, 'operators', () => [['secret'], ['password']], references)
}
