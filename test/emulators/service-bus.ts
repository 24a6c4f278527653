import { isObject } from '../../src/model/json.ts'
import { type Arrived, type EmulatorServer, type Reply, startServer, Tokens } from './server.ts'

interface BusMessage {
  readonly id: string
  readonly session: string
  readonly body: string
}

export interface ServiceBusEmulator extends EmulatorServer {
  readonly messages: readonly BusMessage[]
  /** Errors of the next messages, one each: status, and the text of its XML. */
  readonly errors: { readonly status: number; readonly detail: string }[]
  revokeTokens(): void
  withdraw(): void
}

interface ServiceBusOptions {
  readonly clientId: string
  readonly clientSecret: string
  readonly mostBytes?: number
}

/**
 * A queue of Azure Service Bus with duplicate detection and sessions, and the tokens of Entra ID. Written from Microsoft's REST reference, never
 * compared with the real service. The words of its errors are ours.
 */
export async function startServiceBus({ clientId, clientSecret, mostBytes = 262_144 }: ServiceBusOptions): Promise<ServiceBusEmulator> {
  const tokens = new Tokens()
  const state = { messages: [] as BusMessage[], errors: [] as ServiceBusEmulator['errors'] }
  const answer = (request: Arrived): Reply => {
    if (request.path === '/token') return token(request)
    if (!tokens.isIn(request)) return failed(401, 'Unauthorized access')
    if (request.method !== 'POST' || request.path !== '/changes/messages') return failed(410, 'No such queue')
    const error = state.errors.shift()
    if (error !== undefined) return failed(error.status, error.detail)
    const message = messageIn(request)
    if (message === null) return failed(400, 'BrokerProperties')
    if (Buffer.byteLength(request.body) > mostBytes) return failed(403, 'The message is too large')
    if (!state.messages.some(({ id }) => id === message.id)) state.messages.push(message)
    return { status: 201, type: 'application/xml', body: '' }
  }
  const token = ({ body }: Arrived): Reply => {
    const form = new URLSearchParams(body)
    const isRight = tokens.allowed && form.get('client_id') === clientId && form.get('client_secret') === clientSecret
    const isAsked = form.get('grant_type') === 'client_credentials' && form.get('scope') === 'https://servicebus.azure.net/.default'
    if (!isRight || !isAsked) return { status: 401, body: { error: 'invalid_client' } }
    return { status: 200, body: { token_type: 'Bearer', expires_in: 3599, access_token: tokens.give() } }
  }
  const server = await startServer(
    answer,
    ({ path }) => path.endsWith('/messages'),
    failed(429, 'The server is busy', { 'retry-after': '1' }),
  )
  return Object.assign(state, { ...server, revokeTokens: () => tokens.revoke(), withdraw: () => tokens.withdraw() })
}

function messageIn({ headers, body }: Arrived): BusMessage | null {
  const given = headers['brokerproperties']
  const properties: unknown = typeof given === 'string' ? JSON.parse(given) : null
  if (!isObject(properties)) return null
  const { MessageId: id, SessionId: session } = properties
  const isName = (value: unknown): value is string => typeof value === 'string' && value !== '' && value.length <= 128
  return isName(id) && isName(session) ? { id, session, body } : null
}

function failed(status: number, detail: string, headers: Reply['headers'] = {}): Reply {
  return { status, headers, type: 'application/xml', body: `<Error><Code>${status}</Code><Detail>${detail}</Detail></Error>` }
}
