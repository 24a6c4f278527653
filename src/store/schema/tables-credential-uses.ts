import type { TimeText } from '../../model/time.ts'

export interface CredentialUsesTables {
  sync_credential_uses: CredentialUsesTable
}

export interface CredentialUsesTable {
  account: string
  /** Its id; its secret is stored nowhere. */
  client_id: string
  last_token_at: TimeText
}
