import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { databaseEnv, type Environment, type ServeProcess, startServe } from '../e2e/serve.ts'
import type { TestDatabase } from '../tools/databases.ts'
import { writeSettings } from '../tools/settings-file.ts'

/** What `serve` says when a reload is over, whatever became of it; a part of the line, by outcome. */
const OUTCOMES = {
  applied: 'settings reloaded',
  refused: 'settings not reloaded',
  unchanged: 'nothing changed that',
} as const

export interface Pipe {
  readonly reference: string
  /** Resolves when somebody begins to read, with a function that gives him a text, and its end. */
  opened(): Promise<(text: string) => Promise<void>>
}

/** A database, an emulator of the service, and a folder of settings and secrets that change while `serve` runs. */
export class ReloadStage {
  readonly sandbox: Sandbox
  readonly db: Db
  readonly #folder: string
  readonly #env: Environment

  private constructor(sandbox: Sandbox, db: Db, folder: string, env: Environment) {
    this.sandbox = sandbox
    this.db = db
    this.#folder = folder
    this.#env = env
  }

  /** Everything that it opens ends with the test. @param accounts names of the emulator's accounts. */
  static async open(database: TestDatabase, accounts: readonly string[] = ['default']): Promise<ReloadStage> {
    const sandbox = await startSandbox({ submissions: 0, autoStart: false, accounts: accounts.map((name) => ({ name })) })
    onTestFinished(() => sandbox.close())
    const opened = await database.open()
    onTestFinished(() => opened.close())
    const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-reload-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    return new ReloadStage(sandbox, opened.db, folder, databaseEnv(opened.config))
  }

  /** The environment of a process whose settings file is the one that `settings` writes. */
  get env(): Environment {
    return { ...this.#env, CONFIG_FILE: this.path('config.yaml') }
  }

  /** Writes a secret into a file. @returns a reference to it, for the settings file. */
  secret(name: string, value: string): string {
    writeFileSync(this.path(name), `${value}\n`)
    return `$\{file:${name}}`
  }

  /** Writes the settings file: JSON is YAML too. */
  settings(settings: string | object): void {
    if (typeof settings === 'string') writeFileSync(this.path('config.yaml'), settings)
    else writeSettings(this.path('config.yaml'), settings)
  }

  /** An account of the emulator as the settings file describes one; `over` lies over it. */
  account(name = 'default', over: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
    const { credentials, webhookSecret } = this.sandbox.account(name)
    const client_credentials = credentials.map(({ clientId, clientSecret }) => ({ id: clientId, secret: clientSecret }))
    return { name, base_url: this.sandbox.baseUrl, client_credentials, webhook_secrets: [webhookSecret], ...over }
  }

  /** Makes a named pipe. @returns a reference to it, for the settings file; whoever loads that waits until somebody writes. */
  pipe(name: string): Pipe {
    execFileSync('mkfifo', [this.path(name)])
    return {
      reference: `$\{file:${name}}`,
      opened: async () => {
        const end = await open(this.path(name), 'w')
        return async (text) => {
          await end.writeFile(text)
          await end.close()
        }
      },
    }
  }

  /** @param shell what a shell does first. */
  async serve(over: Environment = {}, shell?: string): Promise<ServeProcess> {
    const serve = await startServe({ ...this.env, ...over }, shell)
    onTestFinished(() => serve.kill())
    return serve
  }

  /** Of a file in the folder. */
  path(name: string): string {
    return join(this.#folder, name)
  }
}

/** Sends SIGHUP. @returns the line that tells what became of it. @throws Error when that was something else. */
export async function reload(serve: ServeProcess, outcome: keyof typeof OUTCOMES): Promise<string> {
  const line = Promise.race(Object.values(OUTCOMES).map((part) => serve.says(part)))
  serve.process.kill('SIGHUP')
  const said = await line
  if (!said.includes(OUTCOMES[outcome])) throw new Error(`the reload ended otherwise: ${said}`)
  return said
}
