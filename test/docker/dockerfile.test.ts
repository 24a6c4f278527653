import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { contextFilter, execForm, pairs, parseDockerfile, type Stage } from './dockerfile.ts'

async function read(path: string): Promise<string> {
  return await readFile(new URL(`../../${path}`, import.meta.url), 'utf8')
}

function settingsOf(stage: Stage | undefined): Map<string, string> {
  return new Map(stage?.steps.map(({ name, rest }) => [name, rest]))
}

describe('the Dockerfile', async () => {
  const text = await read('docker/Dockerfile')
  const stages = parseDockerfile(text)
  const image = stages.at(-1)

  it('builds every stage on Node 24 slim, and needs no newer builder', () => {
    expect(new Set(stages.map(({ base }) => base))).toEqual(new Set(['node:24-bookworm-slim']))
    expect(text).not.toMatch(/^#\s*syntax=|<<|--link|--mount|--start-interval|@sha256:/m)
  })

  it('runs as a user that is not root, with one volume, both ports and a health check', () => {
    const settings = settingsOf(image)
    expect(Number(settings.get('USER')?.split(':')[0])).toBeGreaterThan(0)
    expect(settings.get('VOLUME')).toBe('/data')
    expect(settings.get('EXPOSE')).toBe('8080 8081')
    expect(execForm(settings.get('HEALTHCHECK')?.replace(/^.*?CMD\s+/, '') ?? '')).toContain('node')
    expect([...execForm(settings.get('ENTRYPOINT') ?? ''), ...execForm(settings.get('CMD') ?? '')]).toEqual([
      'node',
      'dist/src/main.js',
      'serve',
    ])
  })

  it('keeps the database on the volume, and opens the ops port within the container', () => {
    expect(pairs(settingsOf(image).get('ENV') ?? '')).toEqual({
      NODE_ENV: 'production',
      DATABASE_URL: 'sqlite:/data/mirror.db',
      OPS_HOST: '0.0.0.0',
    })
  })

  it('brings the presets, where the program looks for them', () => {
    const copied = image?.steps.filter(({ name }) => name === 'COPY').map(({ rest }) => rest)
    expect(copied).toContain('config/presets ./config/presets')
  })

  it('bears the version of the package', async () => {
    const { version } = JSON.parse(await read('package.json')) as { version: string }
    expect(pairs(settingsOf(image).get('LABEL') ?? '')['org.opencontainers.image.version']).toBe(version)
    const compose = parse(await read('docker/compose.yaml')) as { services: { mirror: { image: string } } }
    expect(compose.services.mirror.image).toBe(`submission-mirror:${version}`)
  })

  it('copies nothing that the builder is not sent', async () => {
    const isSent = contextFilter(await read('.dockerignore'))
    const copied = stages
      .flatMap(({ steps }) => steps)
      .filter(({ name, flags }) => name === 'COPY' && flags['from'] === undefined)
      .flatMap(({ rest }) => rest.split(/\s+/).slice(0, -1))
    expect(copied).not.toEqual([])
    expect(copied.filter((source) => !isSent(source))).toEqual([])
    expect(['.env', 'docker/.env', 'data/mirror.db', '.git/config', 'node_modules/pg/package.json'].filter(isSent)).toEqual([])
  })
})

interface Service {
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly ports?: readonly string[]
  readonly profiles?: readonly string[]
  readonly stop_grace_period?: string
}

describe('the compose file', async () => {
  const { services } = parse(await read('docker/compose.yaml'), { merge: true }) as { services: Record<string, Service> }

  it('starts the product alone; Postgres and HTTPS come with their profiles', () => {
    const profiles = Object.entries(services).map(([name, { profiles = [] }]) => [name, profiles])
    expect(Object.fromEntries(profiles)).toEqual({ mirror: [], postgres: ['postgres'], https: ['https'] })
  })

  it('runs the product hardened, and leaves it longer to stop than it takes for itself', () => {
    const { mirror } = services
    expect(mirror?.read_only).toBe(true)
    expect(mirror?.cap_drop).toEqual(['ALL'])
    expect(mirror?.security_opt).toEqual(['no-new-privileges:true'])
    expect(Number.parseInt(mirror?.stop_grace_period ?? '', 10)).toBeGreaterThan(25)
  })

  it('publishes the ops port on the loopback alone, and no port of the database', () => {
    expect(services['mirror']?.ports?.filter((port) => port.endsWith(':8081'))).toEqual(['127.0.0.1:8081:8081'])
    expect(services['postgres']?.ports).toBeUndefined()
  })
})

describe('the reader of Dockerfiles', () => {
  it('joins continued lines, passes over comments, and splits off flags', () => {
    const [stage] = parseDockerfile('# a\nFROM debian AS one\nRUN a \\\n # b\n && c\nCOPY --from=two --chown=1:1 x y\n')
    expect(stage).toEqual({
      name: 'one',
      base: 'debian',
      steps: [
        { name: 'RUN', flags: {}, rest: 'a   && c' },
        { name: 'COPY', flags: { from: 'two', chown: '1:1' }, rest: 'x y' },
      ],
    })
  })

  it('lets the last pattern of a .dockerignore decide', () => {
    const isSent = contextFilter('*\n!src\nsrc/*.log\n')
    expect(['src/a.ts', 'src/deep/b.ts', 'src/x.log', 'other'].map(isSent)).toEqual([true, true, false, false])
  })
})
