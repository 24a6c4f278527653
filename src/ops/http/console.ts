import { existsSync } from 'node:fs'
import { join } from 'node:path'
import files from '@fastify/static'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** Where the built page may be, seen from this file: in the sources it is a level less up than in `dist/`. */
const FOLDERS = [3, 4].map((levels) => join(import.meta.dirname, '../'.repeat(levels), 'dist/console'))

const INDEX = 'index.html'
const OFF = `<!doctype html>
<html lang="en">
<title>submission-mirror</title>
<h1>The console is off</h1>
<p>Set <code>OPS_TOKENS=you:TOKEN</code> and restart or reload the program. Then this page lets you sign in with that token.
<p><code>openssl rand -hex 24</code> makes one.
</html>
`
const NOT_BUILT = 'The console is not built: run `npm run build` in the project and reload this page.\n'

/**
 * Serves the console below `/console/`, and leads `/` to it. Each view has its own address, so what is no file answers with the page, which
 * reads the address itself. Files whose name bears a hash of what they hold are kept by browsers for ever.
 * @param isOn whether anybody can sign in; while nobody can, a page says how to change that.
 * @param folders where the built page may be.
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
