import type { FastifyInstance } from 'fastify'
import { send } from './answers.ts'
import { pageHtml } from './page-html.ts'
import { pageScript } from './page-script.ts'
import { pageStyle } from './page-style.ts'

/** The page needs nothing but the sandbox, and runs nothing that stands in a text. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** The page that shows the sandbox's world: one document, its style and its script. */
export function registerPage(app: FastifyInstance): void {
  const serve = (path: string, contentType: string, text: string) => {
    const answer = { status: 200, contentType: `${contentType}; charset=utf-8`, body: Buffer.from(text) }
    const headers = { 'content-security-policy': POLICY, 'x-content-type-options': 'nosniff', 'cache-control': 'no-cache' }
    app.get(path, (_request, reply) => send(reply, { ...answer, headers }))
  }
  serve('/', 'text/html', pageHtml)
  serve('/page.css', 'text/css', pageStyle)
  serve('/page.js', 'text/javascript', pageScript)
}
