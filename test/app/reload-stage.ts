import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { databaseEnv, type Environment, type ServeProcess, startServe } from '../e2e/serve.ts'
import type { TestDatabase } from '../tools/databases.ts'
import { newFolder } from '../tools/new-folder.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { writeSettings } from '../tools/settings-file.ts'

/** Log texts at the end of a reload, by outcome. */
const OUTCOMES = {
  applied: 'settings reloaded',
  refused: 'settings not reloaded',
  unchanged: 'nothing changed that',
} as const

export interface Pipe {
  readonly reference: string
  /** Resolves when a reader opens the pipe, with a function that writes a text and ends it. */
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

  /** Everything closes with the test. @param accounts names of the emulator's accounts. */
  static async open(database: TestDatabase, accounts: readonly string[] = ['default']): Promise<ReloadStage> {
    const sandbox = await closedAtEnd(startSandbox({ submissions: 0, autoStart: false, accounts: accounts.map((name) => ({ name })) }))
    const opened = await closedAtEnd(database.open())
    const folder = newFolder()
    return new ReloadStage(sandbox, opened.db, folder, databaseEnv(opened.config))
  }

  /** The environment of a process with the settings file of `settings`. */
  get env(): Environment {
    return { ...this.#env, CONFIG_FILE: this.path('config.yaml') }
  }

  /** Writes a secret into a file. @returns a reference to it, for the settings file. */
  secret(name: string, value: string): string {
    writeFileSync(this.path(name), `${value}\n`)
    return `$\{file:${name}}`
  }

  settings(settings: string | object): void {
    if (typeof settings === 'string') writeFileSync(this.path('config.yaml'), settings)
    else writeSettings(this.path('config.yaml'), settings)
  }

  /** An emulator account for the settings file; `over` replaces keys. */
  account(name = 'default', over: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
    const { credentials, webhookSecret } = this.sandbox.account(name)
    const client_credentials = credentials.map(({ clientId, clientSecret }) => ({ id: clientId, secret: clientSecret }))
    return { name, base_url: this.sandbox.baseUrl, client_credentials, webhook_secrets: [webhookSecret], ...over }
  }

  /** Makes a named pipe. @returns a reference to it for the settings file, whose loading waits for a writer. */
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

  async serve(over: Environment = {}, shell?: string): Promise<ServeProcess> {
    const serve = await startServe({ ...this.env, ...over }, shell)
    onTestFinished(() => serve.kill())
    return serve
  }

  path(name: string): string {
    return join(this.#folder, name)
  }
}

/** Sends SIGHUP. @returns the log line of the outcome. @throws Error for another outcome. */
export async function reload(serve: ServeProcess, outcome: keyof typeof OUTCOMES): Promise<string> {
  const line = Promise.race(Object.values(OUTCOMES).map((part) => serve.says(part)))
  serve.process.kill('SIGHUP')
  const said = await line
  if (!said.includes(OUTCOMES[outcome])) throw new Error(`the reload ended otherwise: ${said}`)
  return said
}
