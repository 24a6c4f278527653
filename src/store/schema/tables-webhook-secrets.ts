import type { TimeText } from '../../model/time.ts'

export interface WebhookSecretsTables {
  sync_webhook_secrets: WebhookSecretsTable
}

export interface WebhookSecretsTable {
  account: string
  /** Identifies the secret within the account; see `secretTag`. */
  tag: string
  last_verified_at: TimeText
}
