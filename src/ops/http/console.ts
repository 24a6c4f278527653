import { existsSync } from 'node:fs'
import { join } from 'node:path'
import files from '@fastify/static'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** Possible folders of the built console. In `dist/`, this file is one level deeper than in the source tree. */
const FOLDERS = [3, 4].map((levels) => join(import.meta.dirname, '../'.repeat(levels), 'dist/console'))

const INDEX = 'index.html'
const OFF = `<!doctype html>
<html lang="en">
<title>submission-mirror</title>
<h1>The console is disabled</h1>
<p>Set <code>OPS_TOKENS=you:TOKEN</code> and restart or reload. Then sign in here with that token.
<p>To create a token, run <code>openssl rand -hex 24</code>.
</html>
`
const NOT_BUILT = 'The console is not built. Run `npm run build` in the project, then reload this page.\n'

/**
 * Serves the console below `/console/`, and redirects `/` to it.
 * A path without a file returns the console's page. The page then routes the path in the browser.
 * Files in `assets/` have a hash in their name, so browsers may cache them forever.
 * @param isOn returns true if sign-in is configured. If not, a page explains how to configure it.
 */
export function addConsole(app: FastifyInstance, isOn: () => boolean, folders: readonly string[] = FOLDERS): void {
  app.register(files, { root: import.meta.dirname, serve: false, preCompressed: true, cacheControl: false })
  const toConsole = (_request: FastifyRequest, reply: FastifyReply) => (isOn() ? reply.redirect('/console/') : off(reply))
  app.get('/', toConsole)
  app.get('/console', toConsole)
  app.get<{ Params: { '*': string } }>('/console/*', (request, reply) => {
    const path = request.params['*']
    const isAsset = path.startsWith('assets/')
    if (!isOn()) return isAsset ? reply.callNotFound() : off(reply)
    const folder = folders.find((each) => existsSync(join(each, INDEX)))
    if (folder === undefined) return reply.code(503).type('text/plain').header('cache-control', 'no-store').send(NOT_BUILT)
    const isFile = isAsset || (/^[\w.-]+$/.test(path) && existsSync(join(folder, path)))
    reply.header('cache-control', isAsset ? 'public, max-age=31536000, immutable' : 'no-store')
    return reply.sendFile(isFile ? path : INDEX, folder)
  })
}

function off(reply: FastifyReply): FastifyReply {
  return reply.code(404).type('text/html; charset=utf-8').header('cache-control', 'no-store').send(OFF)
}
