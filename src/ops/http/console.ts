import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** Where the built page may be, seen from this file: in the sources it is a level less up than in `dist/`. */
const FOLDERS = [3, 4].map((levels) => join(import.meta.dirname, '../'.repeat(levels), 'dist/console'))

const INDEX = 'index.html'
const NOT_BUILT = 'The console is not built: run `npm run build` in the project and reload this page.\n'

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
}

/** The encodings that the build leaves beside a file, the smallest first, by the ending of their files. */
const encodings = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const

interface Served {
  readonly type: string
  readonly bytes: Buffer
  readonly encoded: ReadonlyMap<string, Buffer>
  /** Its name bears a hash of what it holds. */
  readonly isForEver: boolean
}

type Files = ReadonlyMap<string, Served>

/**
 * Serves the console below `/console/`, and leads `/` to it. Each view has its own address, so what is no file answers with the page, which
 * reads the address itself. Its files are few and small: they are read once, and kept.
 * @param isOn whether anybody can sign in; while nobody can, there is no console.
 * @param folders where the built page may be.
 */
export function addConsole(app: FastifyInstance, isOn: () => boolean, folders: readonly string[] = FOLDERS): void {
  let reading: Promise<Files> | null = null
  const files = async (): Promise<Files | null> => {
    const folder = folders.find((each) => existsSync(join(each, INDEX)))
    if (folder === undefined && reading === null) return null
    reading ??= readFiles(folder ?? '')
    return await reading.catch((error: unknown) => {
      reading = null
      throw error
    })
  }
  const toConsole = (_request: FastifyRequest, reply: FastifyReply) => (isOn() ? reply.redirect('/console/') : reply.callNotFound())
  app.get('/', toConsole)
  app.get('/console', toConsole)
  app.get<{ Params: { '*': string } }>('/console/*', async (request, reply) => {
    if (!isOn()) return reply.callNotFound()
    const known = await files()
    if (known === null) return reply.code(503).type('text/plain').header('cache-control', 'no-store').send(NOT_BUILT)
    const path = request.params['*']
    const file = known.get(path) ?? (path.startsWith('assets/') ? undefined : known.get(INDEX))
    return file === undefined ? reply.callNotFound() : send(file, request, reply)
  })
}

async function readFiles(folder: string): Promise<Files> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const names = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
  const bytes = new Map(
    await Promise.all(names.map(async (name) => [name.replaceAll('\\', '/'), await readFile(join(folder, name))] as const)),
  )
  const served = [...bytes].flatMap(([name, plain]): [string, Served][] => {
    const type = types[extname(name)]
    if (type === undefined) return []
    const encoded = encodings.flatMap(([encoding, ending]): [string, Buffer][] => {
      const smaller = bytes.get(`${name}${ending}`)
      return smaller === undefined ? [] : [[encoding, smaller]]
    })
    return [[name, { type, bytes: plain, encoded: new Map(encoded), isForEver: name.startsWith('assets/') }]]
  })
  return new Map(served)
}

function send({ type, bytes, encoded, isForEver }: Served, { headers }: FastifyRequest, reply: FastifyReply): FastifyReply {
  const accepted = new Set((headers['accept-encoding'] ?? '').split(',').map((each) => each.trim().split(';', 1)[0]))
  const encoding = encodings.map(([name]) => name).find((name) => accepted.has(name) && encoded.has(name))
  reply.type(type).headers({
    'cache-control': isForEver ? 'public, max-age=31536000, immutable' : 'no-store',
    vary: 'accept-encoding',
    ...(encoding !== undefined && { 'content-encoding': encoding }),
  })
  return reply.send((encoding !== undefined && encoded.get(encoding)) || bytes)
}
