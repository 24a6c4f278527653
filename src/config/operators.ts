import type { z } from 'zod'
import type { Secret as HiddenText } from '../base/secret.ts'
import { writtenOut } from './destinations.ts'
import type { operatorSchema } from './schema/operator.ts'
import type { Tree } from './sources/reading.ts'

/** A value that only `reveal` shows. */
type Secret = Pick<HiddenText, 'reveal'>

interface OperatorBase {
  /** Part of keys, and a label of metrics: `[a-z0-9][a-z0-9_-]{0,62}`. */
  readonly name: string
  /** An alarm that lasts is told again after so long. */
  readonly repeatMs: number
  /** Whether the end of an alarm is told too. */
  readonly resolved: boolean
}

/** Alarms as Standard Webhooks. */
export interface WebhookOperator extends OperatorBase {
  readonly kind: 'webhook'
  readonly url: string
  readonly secret: Secret
  /** Whether it may lie on a loopback, private or link-local address. */
  readonly allowPrivate: boolean
}

/** Alarms by e-mail. */
export interface EmailOperator extends OperatorBase {
  readonly kind: 'email'
  readonly host: string
  readonly port: number
  /** `starttls`: required after connecting; `implicit`: from the first byte; `off`: for a server on this machine. */
  readonly tls: 'starttls' | 'implicit' | 'off'
  /** null: the server wants none. */
  readonly login: { readonly username: string; readonly password: Secret } | null
  readonly from: string
  readonly to: readonly string[]
}

/** Somebody who is told of alarms. */
export type OperatorConfig = WebhookOperator | EmailOperator

type OperatorSettings = z.output<typeof operatorSchema>

/** @returns an operator as the program uses it. */
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

/** @returns every secret of an operator, in each form in which it could turn up in a text. */
export function secretsOfOperator(operator: OperatorConfig): string[] {
  if (operator.kind === 'webhook') return [operator.secret.reveal().replace(/^whsec_/, '')]
  const { login } = operator
  if (login === null) return []
  const password = login.password.reveal()
  return [password, Buffer.from(password).toString('base64'), Buffer.from(`\0${login.username}\0${password}`).toString('base64')]
}

/** @returns a problem for each secret of an operator that was written out. @param references see `writtenOut`. */
export function writtenOperatorSecrets(tree: Tree, references: ReadonlySet<string>): string[] {
  return writtenOut(tree, 'operators', () => [['secret'], ['password']], references)
}
