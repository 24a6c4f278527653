import { randomUUID } from 'node:crypto'
import { type Arrived, type EmulatorServer, type Reply, startServer } from './server.ts'
import { readXml, within, type XmlElement } from './xml-tree.ts'

const SERVICE = 'http://www.WSAPI.AMS360.com/v3.0'
const DATA = `${SERVICE}/DataContract`
const SOAP = 'http://schemas.xmlsoap.org/soap/envelope/'
const GUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/
/** The sequences of the WSDL: .NET reads elements in this order and silently ignores the others. */
const SEQUENCES: Readonly<Record<string, readonly string[]>> = {
  LoginRequest: ['AgencyNo', 'LoginId', 'Password', 'EmployeeCode'],
  CustomerNote: [
    'CustomerId',
    'NoteText',
    'NoteDate',
    'NoteId',
    'PurgeDate',
    'Priority',
    'Attachment',
    'IsSticky',
    'ClaimId',
    'PolicyId',
    'IsNoteTruncated',
  ],
  ById: ['CustomerId'],
  ByNumber: ['CustomerNumber'],
}

type FaultKind = 'Security' | 'Business' | 'General'
type Fields = Readonly<Record<string, string | undefined>>

interface CustomerNote {
  readonly id: string
  readonly customer: string
  readonly text: string
  readonly date: string
  readonly policy: string | undefined
}

interface Ams360Options {
  readonly agency: string
  readonly user: string
  readonly password: string
  readonly customers: readonly {
    readonly id: string
    readonly number: number
    readonly name: string
    readonly policies?: readonly string[]
  }[]
}

/** WSAPI v3 of AMS360, as its reference and WSDL describe it. A note that is sent twice is stored twice. */
export interface Ams360Emulator extends EmulatorServer {
  readonly notes: readonly CustomerNote[]
  operations(): string[]
  expire(): void
  withdraw(): void
  mayWrite(allowed: boolean): void
  faultNext(kind: FaultKind): void
}

class Refusal extends Error {
  readonly kind: FaultKind
  constructor(kind: FaultKind, message: string) {
    super(message)
    this.kind = kind
  }
}

export async function startAms360(options: Ams360Options): Promise<Ams360Emulator> {
  const wsapi = new Wsapi(options)
  const server = await startServer(
    (request) => wsapi.answer(request),
    (request) => request.body.includes('CustomerNoteInsert'),
  )
  return {
    ...server,
    url: `${server.url}/v3/WSAPIService.svc`,
    notes: wsapi.notes,
    operations: () => server.arrived.map((request) => String(request.headers['soapaction']).replace(/^.*\/|"$/g, '')),
    expire: () => wsapi.tickets.clear(),
    withdraw: () => {
      wsapi.tickets.clear()
      wsapi.letsIn = false
    },
    mayWrite: (allowed) => {
      wsapi.writable = allowed
    },
    faultNext: (kind) => {
      wsapi.nextFault = kind
    },
  }
}

class Wsapi {
  readonly notes: CustomerNote[] = []
  readonly tickets = new Set<string>()
  letsIn = true
  writable = true
  nextFault: FaultKind | null = null
  readonly #o: Ams360Options

  constructor(options: Ams360Options) {
    this.#o = options
  }

  answer(request: Arrived): Reply {
    if (request.method !== 'POST' || request.path !== '/v3/WSAPIService.svc') return { status: 404, type: 'text/html', body: 'no service' }
    if (!request.headers['content-type']?.startsWith('text/xml')) return { status: 415, type: 'text/html', body: 'text/xml is expected' }
    try {
      const envelope = readXml(request.body)
      if (envelope.name !== 'Envelope' || envelope.namespace !== SOAP) throw new Refusal('General', 'no envelope of SOAP 1.1')
      const operation = within(envelope, 'Body')?.children[0]
      if (operation?.namespace !== SERVICE) throw new Refusal('General', 'the operation is of another namespace')
      if (request.headers['soapaction'] !== `"${SERVICE}/WSAPIServiceContract/${operation.name}"`) {
        throw new Refusal('General', 'the SOAPAction is of another operation')
      }
      return this.#run(operation, within(within(envelope, 'Header'), 'Ticket'))
    } catch (error) {
      if (error instanceof Refusal) return fault(error)
      return { status: 400, type: 'text/html', body: String(error) }
    }
  }

  #run(operation: XmlElement, ticket: XmlElement | undefined): Reply {
    const request = within(operation, 'Request')
    if (operation.name === 'Login') return this.#login(read(request, 'LoginRequest'))
    if (ticket?.namespace !== SERVICE || !this.tickets.has(ticket.text)) throw new Refusal('Security', 'The session is not valid.')
    if (operation.name === 'CustomerNoteInsert') return this.#insertNote(read(within(request, 'CustomerNote'), 'CustomerNote'))
    const { customers } = this.#o
    if (operation.name === 'CustomerGetByNumber') {
      const { CustomerNumber = '' } = read(request, 'ByNumber')
      return customer(customers.find((one) => String(one.number) === CustomerNumber))
    }
    if (operation.name === 'CustomerGetById') {
      const { CustomerId = '' } = read(request, 'ById')
      return customer(customers.find((one) => one.id === CustomerId.toLowerCase()))
    }
    throw new Refusal('General', `there is no operation ${operation.name}`)
  }

  #login({ AgencyNo, LoginId, Password }: Fields): Reply {
    const { agency, user, password } = this.#o
    if (!this.letsIn || AgencyNo !== agency || LoginId !== user || Password !== password) {
      throw new Refusal('Security', 'The user could not be authenticated.')
    }
    const ticket = randomUUID()
    this.tickets.add(ticket)
    const session = `<h:WSAPISession xmlns:h="${SERVICE}" xmlns="${SERVICE}"><Ticket>${ticket}</Ticket></h:WSAPISession>`
    return envelopeOf(200, `<LoginResponse xmlns="${SERVICE}"/>`, session)
  }

  #insertNote({ CustomerId = '', NoteText = '', NoteDate, PolicyId }: Fields): Reply {
    if (!this.writable) throw new Refusal('Security', 'The user may not insert notes.')
    const kind = this.nextFault
    this.nextFault = null
    if (kind !== null) throw new Refusal(kind, `A fault of the kind ${kind}.`)
    if (!GUID.test(CustomerId)) throw new Refusal('General', 'The formatter threw an exception: CustomerId')
    const owner = this.#o.customers.find((one) => one.id === CustomerId)
    if (owner === undefined) throw new Refusal('Business', 'CustomerId is not valid.')
    if (NoteText.trim() === '') throw new Refusal('Business', 'NoteText is required.')
    if (NoteDate === undefined || !/^\d{4}-\d\d-\d\dT00:00:00$/.test(NoteDate)) throw new Refusal('Business', 'NoteDate is a date only.')
    if (PolicyId !== undefined && !owner.policies?.includes(PolicyId)) throw new Refusal('Business', "PolicyId is not the customer's.")
    const note = { id: randomUUID(), customer: CustomerId, text: NoteText, date: NoteDate, policy: PolicyId }
    this.notes.push(note)
    return result('CustomerNoteInsert', `<a:NoteId>${note.id}</a:NoteId>`)
  }
}

/** The fields that .NET reads of a data contract: those of its namespace in the order of the WSDL. */
function read(element: XmlElement | undefined, contract: string): Fields {
  const fields: Record<string, string> = {}
  const sequence = SEQUENCES[contract] ?? []
  let at = 0
  for (const child of element?.children ?? []) {
    const position = child.namespace === DATA ? sequence.indexOf(child.name, at) : -1
    if (position < 0) continue
    fields[child.name] = child.text
    at = position + 1
  }
  return fields
}

function customer(found: Ams360Options['customers'][number] | undefined): Reply {
  if (found === undefined) throw new Refusal('Business', 'The customer was not found.')
  const fields = `<a:IsActive>true</a:IsActive><a:CustomerId>${found.id}</a:CustomerId><a:CustomerNumber>${found.number}</a:CustomerNumber>`
  return result('CustomerGet', `<a:Customer>${fields}<a:FirmName>${found.name}</a:FirmName></a:Customer>`)
}

function result(name: string, content: string): Reply {
  const inner = `<${name}Result xmlns:a="${DATA}">${content}</${name}Result>`
  return envelopeOf(200, `<${name}Response xmlns="${SERVICE}">${inner}</${name}Response>`)
}

function fault({ kind, message }: Refusal): Reply {
  const detail = `<WSAPI${kind}Fault xmlns="${DATA}"><Message>${message.replaceAll("'", '&apos;')}</Message></WSAPI${kind}Fault>`
  const said = `<faultcode>s:Client</faultcode><faultstring xml:lang="en-US">WSAPI ${kind} Fault</faultstring><detail>${detail}</detail>`
  return envelopeOf(500, `<s:Fault>${said}</s:Fault>`)
}

function envelopeOf(status: number, body: string, header = ''): Reply {
  const head = header === '' ? '' : `<s:Header>${header}</s:Header>`
  const text = `<s:Envelope xmlns:s="${SOAP}">${head}<s:Body>${body}</s:Body></s:Envelope>`
  return { status, type: 'text/xml; charset=utf-8', body: text }
}
