import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UsageError } from '../../src/base/errors.ts'
import { loadConfig } from '../../src/config/config.ts'
import { sharedFolder } from '../tools/compile-cache.ts'
import { writeSettings } from '../tools/settings-file.ts'

export type Env = Readonly<Record<string, string | undefined>>

/** A webhook secret of `length` bytes, different for each `n`. */
export function hook(n: number, length = 24): string {
  return `whsec_${Buffer.alloc(length, n).toString('base64')}`
}

export const account: Env = {
  BROKER_API_BASE_URL: 'https://api.service.test/api/v1',
  BROKER_API_CLIENT_ID: 'bac_one',
  BROKER_API_CLIENT_SECRET: 'bas_one-secret',
  WEBHOOK_SECRETS: hook(1),
}

/** @returns the problems of `env`; empty if it loads. */
export function problemsOf(env: Env, needs?: 'database'): readonly string[] {
  try {
    loadConfig(env, needs)
    return []
  } catch (error) {
    if (error instanceof UsageError) return error.problems
    throw error
  }
}

const folder = mkdtempSync(join(sharedFolder() ?? tmpdir(), 'submission-mirror-config-'))
let written = 0

export function file(text: string, name = `${++written}.txt`): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const SECRETS: Env = { CLIENT: 'bas_one-secret', HOOK1: hook(1), HOOK2: hook(2), HOOK3: hook(3) }

/** @returns an environment with a settings file of `yaml`, which may refer to `SECRETS`. */
export function withFile(yaml: string, env: Env = {}): Env {
  return { ...SECRETS, ...env, CONFIG_FILE: file(yaml) }
}

/** Service paths that no setting may name: they leave the base, exchange secrets or count against a daily limit. */
export const REFUSED_PATHS = [
  'broker/x',
  '//elsewhere.test/x',
  'https://elsewhere.test/x',
  '/broker/../x',
  '/broker/./x',
  '/broker//x',
  '/broker/x#y',
  '/',
  '/broker/%2e%2e/x',
  '/broker/a b',
  '/broker/{',
  '/oauth/token',
  '/broker/appetite?query=x',
]

/** @returns an environment whose settings file has one account with these additional keys, as YAML. */
export function withAccount(keys: string): Env {
  return withFile(
    `accounts:\n  - { name: a, base_url: "https://a.test", client_credentials: [{ id: i, secret: "\${CLIENT}" }], webhook_secrets: ["\${HOOK1}"], ${keys} }\n`,
  )
}

/** @returns an environment with a settings file, whose secrets are in files. */
export function withSettings(settings: object, env: Env = {}): Env {
  const path = join(folder, `${++written}.json`)
  writeSettings(path, settings)
  return { ...env, CONFIG_FILE: path }
}
