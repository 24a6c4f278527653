import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { BlockList } from 'node:net'
import { posix } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { misspelled, unknownVariables } from '../../src/config/sources/names.ts'
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

  it('builds every stage on the Node that the project is tested with, named by its digest, and needs no newer builder', async () => {
    const { devDependencies } = JSON.parse(await read('package.json')) as { devDependencies: { node: string } }
    expect(stages[0]?.base).toMatch(new RegExp(`^node:${devDependencies.node}-bookworm-slim@sha256:[0-9a-f]{64}$`))
    expect(new Set(stages.slice(1).map(({ base }) => base))).toEqual(new Set(['base']))
    expect(text).not.toMatch(/^#\s*syntax=|<<|--link|--mount|--start-interval/m)
  })

  it('includes the list of its components, with the licenses', () => {
    const steps = image?.steps.filter(({ name, flags }) => name === 'COPY' && flags['from'] === 'dependencies').map(({ rest }) => rest)
    expect(steps).toContain('/app/materials ./')
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

  it('keeps the database and the documents on the volume, and opens the ops port within the container', () => {
    expect(pairs(settingsOf(image).get('ENV') ?? '')).toEqual({
      NODE_ENV: 'production',
      DATABASE_URL: 'sqlite:/data/mirror.db',
      DOCUMENTS_DIR: '/data/documents',
      BACKUP_DIR: '/data/backups',
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
  readonly image?: string
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly ports?: readonly string[]
  readonly profiles?: readonly string[]
  readonly stop_grace_period?: string
  readonly hostname?: string
  readonly environment?: Readonly<Record<string, string>>
  readonly networks?: readonly string[]
  readonly volumes?: readonly string[]
}

describe('the compose file', async () => {
  const { services, volumes } = parse(await read('docker/compose.yaml'), { merge: true }) as {
    services: Record<string, Service>
    volumes: Record<string, null>
  }

  it('starts the product alone; Postgres, two of it, HTTPS and the monitoring come with their profiles', () => {
    const profiles = Object.entries(services).map(([name, { profiles = [] }]) => [name, profiles])
    expect(Object.fromEntries(profiles)).toEqual({
      mirror: [],
      postgres: ['postgres'],
      db1: ['failover'],
      db2: ['failover'],
      https: ['https'],
      prometheus: ['monitoring'],
      grafana: ['monitoring'],
    })
  })

  it('trusts only the proxy of the profile, at a fixed address that no other container gets', async () => {
    const { services, networks } = parse(await read('docker/compose.yaml'), { merge: true }) as {
      services: Record<'mirror', { environment: { TRUST_PROXY: string } }> &
        Record<'https', { networks: { outside: { ipv4_address: string } } }>
      networks: { outside: { ipam: { config: readonly { subnet: string; ip_range: string }[] } } }
    }
    const { ipv4_address: address } = services.https.networks.outside
    expect(services.mirror.environment.TRUST_PROXY).toBe(`\${TRUST_PROXY:-${address}}`)
    const [{ subnet = '', ip_range: range = '' } = {}] = networks.outside.ipam.config
    const isIn = (network: string) => {
      const [base = '', bits] = network.split('/')
      const list = new BlockList()
      list.addSubnet(base, Number(bits))
      return list.check(address)
    }
    expect([isIn(subnet), isIn(range)]).toEqual([true, false])
  })

  it('names every image of others by a digest', () => {
    const images = Object.entries(services).filter(([name]) => name !== 'mirror')
    for (const [name, { image }] of images) expect(image, name).toMatch(/^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/)
  })

  it('mounts only volumes that it makes, and files that there are', async () => {
    for (const { volumes: mounts = [] } of Object.values(services)) {
      for (const [source = ''] of mounts.map((mount) => mount.split(':'))) {
        if (source.startsWith('./')) expect(await read(`docker/${source}`), source).not.toBe('')
        else expect(Object.keys(volumes)).toContain(source)
      }
    }
  })

  it('runs the product hardened, and gives it more time to stop than it needs', () => {
    const { mirror } = services
    expect(mirror?.read_only).toBe(true)
    expect(mirror?.cap_drop).toEqual(['ALL'])
    expect(mirror?.security_opt).toEqual(['no-new-privileges:true'])
    expect(Number.parseInt(mirror?.stop_grace_period ?? '', 10)).toBeGreaterThan(25)
  })

  it('publishes the ops port on the loopback alone, and no port of the database', () => {
    expect(services['mirror']?.ports?.filter((port) => port.endsWith(':8081'))).toEqual([
      '${CONSOLE_ADDRESS:-127.0.0.1}:${OPS_PORT:-8081}:8081',
    ])
    for (const name of ['postgres', 'db1', 'db2']) expect(services[name]?.ports, name).toBeUndefined()
  })

  it('reads no variable from `.env` that the program rejects, because Compose passes all of `.env` to the program', async () => {
    const names = [...(await read('docker/compose.yaml')).matchAll(/\$\{(\w+)/g)].map(([, name = '']) => name)
    expect(names).toContain('CONSOLE_ADDRESS')
    const env = Object.fromEntries(names.map((name) => [name, 'x']))
    expect([...unknownVariables(env, new Set()), ...misspelled(env, new Set())]).toEqual([])
  })

  it('has two servers that differ only in their own settings, and follow each other by the names that commits wait for', async () => {
    const { db1, db2, postgres } = services
    expect([db1?.image, db2?.image]).toEqual([postgres?.image, postgres?.image])
    expect([db1?.hostname, db2?.hostname]).toEqual(['db1', 'db2'])
    expect([db1?.environment?.['FOLLOWS'], db2?.environment?.['FOLLOWS']]).toEqual(['${DB1_FOLLOWS:-}', '${DB2_FOLLOWS-db1}'])
    expect([db1?.volumes?.[0], db2?.volumes?.[0]]).toEqual(['db1:/var/lib/postgresql', 'db2:/var/lib/postgresql'])
    expect(await read('docker/postgres/first-start.sh')).toContain("'ANY 1 (db1, db2)'")
    for (const script of ['server', 'first-start']) {
      const parsed = spawnSync('bash', ['-n', `docker/postgres/${script}.sh`], { encoding: 'utf8' })
      expect([parsed.status, parsed.stderr], script).toEqual([0, ''])
    }
  })
})

describe('the profile monitoring', async () => {
  const { services } = parse(await read('docker/compose.yaml'), { merge: true }) as { services: Record<string, Service> }
  const { mirror, prometheus, grafana } = services
  const inside = (service: Service | undefined) =>
    new Map(service?.volumes?.filter((mount) => mount.startsWith('./')).map((mount) => mount.split(':').slice(0, 2) as [string, string]))

  it('is published on the loopback alone', () => {
    expect([prometheus?.ports, grafana?.ports]).toEqual([['127.0.0.1:9090:9090'], ['127.0.0.1:3000:3000']])
  })

  it('lets Prometheus scrape the product, with its rules next to its settings', async () => {
    const settings = parse(await read('docker/prometheus/prometheus.yaml')) as {
      rule_files: string[]
      scrape_configs: { static_configs: { targets: string[] }[] }[]
    }
    expect(settings.scrape_configs.flatMap((scrape) => scrape.static_configs.flatMap(({ targets }) => targets))).toEqual(['mirror:8081'])
    expect(prometheus?.networks?.filter((network) => mirror?.networks?.includes(network))).not.toEqual([])
    const files = inside(prometheus)
    expect(files.get('./prometheus/prometheus.yaml')).toBe('/etc/prometheus/prometheus.yml')
    expect(settings.rule_files.map((file) => posix.join('/etc/prometheus', file))).toEqual([files.get('./prometheus/alerts.yaml')])
  })

  it('lets Grafana find that Prometheus, and the dashboard', async () => {
    const files = inside(grafana)
    const { datasources } = parse(await read('docker/grafana/datasources.yaml')) as { datasources: { type: string; url: string }[] }
    expect(datasources).toMatchObject([{ type: 'prometheus', url: 'http://prometheus:9090' }])
    expect(grafana?.networks?.filter((network) => prometheus?.networks?.includes(network))).not.toEqual([])
    const { providers } = parse(await read('docker/grafana/dashboards.yaml')) as { providers: { options: { path: string } }[] }
    expect(providers.map(({ options }) => options.path)).toEqual([posix.dirname(files.get('./grafana/dashboard.json') ?? '')])
    for (const kind of ['datasources', 'dashboards']) {
      expect(posix.dirname(files.get(`./grafana/${kind}.yaml`) ?? '')).toBe(`/etc/grafana/provisioning/${kind}`)
    }
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
