import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AdminApi } from './admin.ts'
import type { AdminServerParts } from './api/parts.ts'

/**
 * Loads the admin routes with the first request to them: most installations never use them, and their schemas would slow down the start.
 */
export class LazyAdmin {
  readonly #parts: AdminServerParts
  #api: Promise<AdminApi> | null = null

  constructor(parts: AdminServerParts) {
    this.#parts = parts
  }

  /** Whether anybody can sign in: the settings have a token, or a provider of OpenID Connect. Without one there are no routes below `/api`. */
  get isOn(): boolean {
    const { tokens, oidc } = this.#parts.config().ops
    return tokens.length > 0 || oidc !== null
  }

  /** Answers a request whose body was not read yet. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      this.#api ??= this.#load()
      const api = await this.#api
      api.answer(request, response)
    } catch (error) {
      this.#api = null
      this.#parts.log.error({ err: error }, 'the admin routes could not be loaded')
      response.writeHead(500).end()
    }
  }

  async close(): Promise<void> {
    const api = await this.#api?.catch(() => null)
    await api?.close()
  }

  async #load(): Promise<AdminApi> {
    const { createAdmin } = await import('./admin.ts')
    return await createAdmin(this.#parts)
  }
}
