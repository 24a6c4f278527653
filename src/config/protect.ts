import type { Config } from './config.ts'

/** @returns the settings of a `Protection`. They contain the keys unencrypted, so don't log them. */
export function protectionSettings({ protect, taxIdFields }: Pick<Config, 'protect' | 'taxIdFields'>) {
  const keys = protect.keys.map(({ id, key }) => ({ id, key: Buffer.from(key.reveal(), 'base64') }))
  return { mode: protect.mode, keys, taxIdFields }
}
