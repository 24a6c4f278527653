import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'

export const CLIENT_ID = 'submission-mirror'
export const CLIENT_SECRET = 'secret-of-the-client-0123456789'

/** A real provider of OpenID Connect on loopback that signs everyone in immediately. */
export class Issuer {
  person: Readonly<Record<string, unknown>> & { sub: string } = { sub: 'u-1', preferred_username: 'jane', groups: ['mirror-operators'] }
  readonly url: string
  readonly #server: Server

  private constructor(url: string, server: Server) {
    this.url = url
    this.#server = server
  }

  /** @param redirectUri the callback. */
  static async start(redirectUri: string): Promise<Issuer> {
    const server = createServer()
    await once(server.listen(0, '127.0.0.1'), 'listening')
    // For a browser, a different site than 127.0.0.1.
    const issuer = new Issuer(`http://localhost:${(server.address() as AddressInfo).port}`, server)
    const provider = issuer.#provider(redirectUri)
    const answer = provider.callback()
    server.on('request', (request, response) => {
      if (!request.url?.startsWith('/interaction/')) return void answer(request, response)
      const result = { login: { accountId: issuer.person.sub } }
      void provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
    })
    return issuer
  }

  #provider(redirectUri: string): Provider {
    const client = { client_id: CLIENT_ID, client_secret: CLIENT_SECRET, redirect_uris: [redirectUri] }
    return new Provider(this.url, {
      clients: [{ ...client, grant_types: ['authorization_code'], response_types: ['code'] }],
      claims: { openid: ['sub', 'groups'], profile: ['preferred_username'], email: ['email', 'email_verified'] },
      conformIdTokenClaims: false,
      cookies: { keys: ['a-key-of-a-test'] },
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
      pkce: { required: () => true },
      findAccount: (_context, sub) => ({ accountId: sub, claims: async () => ({ ...this.person, sub }) }),
      loadExistingGrant: async (context) => {
        const { client, session, provider } = context.oidc
        const grant = new provider.Grant({ clientId: client?.clientId ?? '', accountId: session?.accountId ?? '' })
        grant.addOIDCScope('openid profile email')
        await grant.save()
        return grant
      },
    })
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    if (!this.#server.listening) return
    this.#server.close()
    await once(this.#server, 'close')
  }
}

/** A minimal browser: keeps cookies by host and follows redirects. */
export class Visitor {
  readonly #jar = new Map<string, Map<string, string>>()
  readonly visited: string[] = []

  cookie(url: string, name: string): string | undefined {
    return this.#of(url).get(name)
  }

  keep(url: string, name: string, value: string): void {
    this.#of(url).set(name, value)
  }

  async get(url: string): Promise<Response> {
    this.visited.push(url)
    const cookies = [...this.#of(url)].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, { redirect: 'manual', headers: cookies === '' ? {} : { cookie: cookies } })
    for (const set of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? []
      if (value === '' || /max-age=0|expires=Thu, 01 Jan 1970/i.test(set)) this.#of(url).delete(name)
      else this.#of(url).set(name, value)
    }
    return response
  }

  /** Follows redirects until `stop` or the last one. @returns the last URL, and its answer unless stopped. */
  async follow(url: string, stop: (url: string) => boolean = () => false): Promise<{ url: string; response: Response | null }> {
    let at = url
    for (let n = 0; n < 20; n++) {
      if (stop(at)) return { url: at, response: null }
      const response = await this.get(at)
      const to = response.headers.get('location')
      if (to === null) return { url: at, response }
      at = new URL(to, at).href
    }
    throw new Error(`redirect loop: ${this.visited.join(' ')}`)
  }

  #of(url: string): Map<string, string> {
    const { host } = new URL(url)
    const jar = this.#jar.get(host) ?? new Map<string, string>()
    this.#jar.set(host, jar)
    return jar
  }
}
