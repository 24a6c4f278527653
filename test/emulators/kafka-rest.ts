import { isObject } from '../../src/model/json.ts'
import { type Arrived, type EmulatorServer, jsonIn, type Reply, startServer } from './server.ts'

interface TopicRecord {
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
  readonly value: unknown
}

export interface KafkaRestEmulator extends EmulatorServer {
  readonly records: readonly TopicRecord[]
  /** Codes of the next records, which are not stored: each in an answer with status 200. */
  readonly codes: number[]
  allowed: boolean
}

/**
 * One topic behind Confluent's REST API v3. Written from Confluent's API reference and the open source of its REST Proxy, never compared with a
 * real cluster.
 */
export async function startKafkaRest({ user, password }: { readonly user: string; readonly password: string }): Promise<KafkaRestEmulator> {
  const topic = '/kafka/v3/clusters/lkc-1/topics/changes'
  const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
  const state = { records: [] as TopicRecord[], codes: [] as number[], allowed: true }
  const answer = (request: Arrived): Reply => {
    if (!state.allowed || request.headers.authorization !== authorization) return failed(401, 40101, 'Unauthorized')
    if (request.method === 'GET' && request.path === topic) return { status: 200, body: { kind: 'KafkaTopic', topic_name: 'changes' } }
    if (request.method !== 'POST' || request.path !== `${topic}/records`) return failed(404, 40403, 'This server does not host this topic.')
    const record = recordIn(request)
    if (record === null) return failed(422, 42206, 'Unrecognized or missing field')
    const code = state.codes.shift()
    if (code !== undefined) return failed(200, code, 'as the test wants it')
    state.records.push(record)
    const place = { cluster_id: 'lkc-1', topic_name: 'changes', partition_id: 0, offset: state.records.length - 1 }
    return { status: 200, body: { error_code: 200, ...place, key: { type: 'STRING' }, value: { type: 'JSON' } } }
  }
  const server = await startServer(answer, ({ method }) => method === 'POST', failed(429, 42901, 'Request rate limit exceeded'))
  return Object.assign(state, server)
}

function recordIn(request: Arrived): TopicRecord | null {
  const { key, headers = [], value, ...others } = jsonIn(request) ?? {}
  const isTyped = (part: unknown, type: string): part is { readonly data: unknown } =>
    isObject(part) && part['type'] === type && 'data' in part
  if (!isTyped(key, 'STRING') || typeof key.data !== 'string' || !isTyped(value, 'JSON')) return null
  if (!Array.isArray(headers) || Object.keys(others).length > 0) return null
  const decoded = headers.map((each) => [String(each.name), Buffer.from(String(each.value), 'base64').toString()])
  return { key: key.data, headers: Object.fromEntries(decoded), value: value.data }
}

function failed(status: number, code: number, message: string): Reply {
  const isBusy = String(code).startsWith('429')
  return { status, headers: isBusy ? { 'retry-after': '1' } : {}, body: { error_code: code, message } }
}
