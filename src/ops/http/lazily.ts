import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AdminApi } from './admin.ts'
import type { AdminParts } from './api/parts.ts'

/**
 * The admin routes, which are loaded with the first request to them: most who start the program never ask, and nobody should wait
 * for their schemas.
 */
export class LazyAdmin {
  readonly #parts: AdminParts
  #api: Promise<AdminApi> | null = null

  constructor(parts: AdminParts) {
    this.#parts = parts
  }

  /** Whether there is anything below `/api`: only while the settings have a token. */
  get isOn(): boolean {
    return this.#parts.config().ops.tokens.length > 0
  }

  /** Answers a request of which nothing was read yet. */
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
