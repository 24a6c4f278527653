import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Ams } from './ams.ts'
import { Books } from './books.ts'

interface DemoAccount {
  readonly baseUrl: string
  readonly clientId: string
  readonly clientSecret: string
  readonly webhookSecret: string
}

/**
 * Settings file for `serve`, and for commands that a person runs later. The AMS gets every change. Accounting gets the
 * policies of mapped submissions. The request rate is so high that requests stay fast even after the service throttles
 * the program.
 */
const settingsText = (database: string, { baseUrl, clientId }: DemoAccount, amsUrl: string, booksUrl: string) => `accounts:
  - name: default
    default: true
    base_url: ${baseUrl}
    client_credentials:
      - id: ${clientId}
        secret: \${file:client-secret}
    webhook_secrets: \${file:webhook-secrets}
database:
  url: ${JSON.stringify(`sqlite:${database}`)}
destinations:
  - name: ams
    kind: webhook
    url: ${amsUrl}
    secret: \${file:ams-secret}
    backfill: true
    allow_private: true
    schedule: [300ms, 1s, 2s, 4s, 8s]
  - name: accounting
    kind: webhook
    url: ${booksUrl}
    secret: \${file:ams-secret}
    entities: [policies]
    mapping: required
    allow_private: true
    schedule: [300ms]
webhooks:
  lost_after: 5s
upstream:
  rps: 1000
documents:
  dir: ${JSON.stringify(join(dirname(database), 'documents'))}
  hosts: []
`

interface ReceiversParts {
  readonly folder: string
  readonly database: string
  readonly account: DemoAccount
  /** Returns the time in ms since the epoch. */
  readonly now: () => number
  readonly closing: AsyncDisposableStack
}

/** Starts the AMS and the accounting system, and writes the settings file. */
export async function startReceivers({ folder, database, account, now, closing }: ReceiversParts) {
  const ams = new Ams(join(folder, 'ams.log'), now)
  const amsUrl = await ams.listen()
  closing.defer(() => ams.close())
  const books = new Books()
  const booksUrl = await books.listen()
  closing.defer(() => books.close())
  const secretsFile = join(folder, 'webhook-secrets')
  const secrets = {
    [secretsFile]: account.webhookSecret,
    [join(folder, 'client-secret')]: account.clientSecret,
    [join(folder, 'ams-secret')]: ams.secret,
  }
  for (const [file, secret] of Object.entries(secrets)) writeFileSync(file, secret, { mode: 0o600 })
  const settingsFile = join(folder, 'mirror.yaml')
  writeFileSync(settingsFile, settingsText(database, account, amsUrl, booksUrl))
  return { ams, secretsFile, settingsFile }
}
