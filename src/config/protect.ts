import type { SecretText } from '../base/secret.ts'

/** What is done with tax ids before they are stored. */
export interface ProtectConfig {
  readonly mode: 'drop' | 'encrypt' | 'keep'
  /** Base64 of 32 bytes each, with their names. The first encrypts, all decrypt. */
  readonly keys: readonly { readonly id: string; readonly key: SecretText }[]
}

interface Given {
  readonly protect: ProtectConfig
  readonly taxIdFields: readonly string[]
}

/** @returns the settings of a `Protection`, the keys in plain. Not to be logged. */
export function protectionSettings({ protect, taxIdFields }: Given) {
  const keys = protect.keys.map(({ id, key }) => ({ id, key: Buffer.from(key.reveal(), 'base64') }))
  return { mode: protect.mode, keys, taxIdFields }
}
