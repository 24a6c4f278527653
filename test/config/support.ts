import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UsageError } from '../../src/base/errors.ts'
import { type LoadOptions, loadConfig } from '../../src/config/config.ts'
import { sharedFolder } from '../tools/compile-cache.ts'
import { writeSettings } from '../tools/settings-file.ts'

export type Env = Readonly<Record<string, string | undefined>>

/** A webhook secret of `length` bytes, different for each `n`. */
export function hook(n: number, length = 24): string {
  return `whsec_${Buffer.alloc(length, n).toString('base64')}`
}

/** The environment of a whole account. */
export const account: Env = {
  BROKER_API_BASE_URL: 'https://api.service.test/api/v1',
  BROKER_API_CLIENT_ID: 'bac_one',
  BROKER_API_CLIENT_SECRET: 'bas_one-secret',
  WEBHOOK_SECRETS: hook(1),
}

/** @returns what is wrong with `env`; nothing when it loads. */
export function problemsOf(env: Env, options?: LoadOptions): readonly string[] {
  try {
    loadConfig(env, options)
    return []
  } catch (error) {
    if (error instanceof UsageError) return error.problems
    throw error
  }
}

const folder = mkdtempSync(join(sharedFolder() ?? tmpdir(), 'submission-mirror-config-'))
let written = 0

/** Writes a file for the test. @returns its path. */
export function file(text: string, name = `${++written}.txt`): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

/** Secrets that a settings file may refer to. */
const SECRETS: Env = { CLIENT: 'bas_one-secret', HOOK1: hook(1), HOOK2: hook(2), HOOK3: hook(3) }

/** @returns an environment whose settings file holds `yaml`, which may refer to `SECRETS`. */
export function withFile(yaml: string, env: Env = {}): Env {
  return { ...SECRETS, ...env, CONFIG_FILE: file(yaml) }
}

/** @returns an environment whose settings file holds `settings`, the secrets in files beside it. */
export function withSettings(settings: object, env: Env = {}): Env {
  const path = join(folder, `${++written}.json`)
  writeSettings(path, settings)
  return { ...env, CONFIG_FILE: path }
}
