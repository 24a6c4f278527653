import type { SecretText } from '../base/secret.ts'
import { Protection } from '../model/protection/protection.ts'
import type { Config } from './config.ts'

/** What is done with tax ids before they are stored. */
export interface ProtectConfig {
  readonly mode: 'drop' | 'encrypt' | 'keep'
  /** Base64 of 32 bytes each, with their names. The first encrypts, all decrypt. */
  readonly keys: readonly { readonly id: string; readonly key: SecretText }[]
}

/** @returns the protection that the settings ask for. */
export function protectionOf(config: Pick<Config, 'protect' | 'taxIdFields'>): Protection {
  return new Protection(protectionSettings(config))
}

/** @returns the settings of a `Protection`, the keys in plain. Not to be logged. */
export function protectionSettings({ protect, taxIdFields }: Pick<Config, 'protect' | 'taxIdFields'>) {
  const keys = protect.keys.map(({ id, key }) => ({ id, key: Buffer.from(key.reveal(), 'base64') }))
  return { mode: protect.mode, keys, taxIdFields }
}
