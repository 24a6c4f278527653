import type { Market } from './names.ts'
import type { Prng } from './prng.ts'
import type { MessageInit } from './submission.ts'
import type { Attachment } from './wire.ts'

/** Persons and addresses in a submission's mails. */
export interface Correspondence {
  readonly insuredName: string
  /** First name and address of the producer at the brokerage. */
  readonly producer: { readonly name: string; readonly email: string }
  /** Message-ID of the first mail. All other mails reply to it. */
  readonly rootMessageId: string
}

const SERVICE_ADDRESS = 'submissions@desk.invalid'

function outbound(who: Correspondence, kind: string, subject: string, lines: readonly string[]): MessageInit {
  return {
    channel: 'email',
    direction: 'outbound',
    kind,
    subject: `${who.insuredName}: ${subject}`,
    body_text: [`Hi ${who.producer.name},`, '', ...lines, '', 'Your submissions desk'].join('\n'),
    from: SERVICE_ADDRESS,
    to: [who.producer.email],
    in_reply_to: kind === 'initial_clearance' ? null : who.rootMessageId,
  }
}

/** @returns the first mail. It lists the markets that are approached. */
export function clearance(who: Correspondence, approached: readonly Market[]): MessageInit {
  return outbound(who, 'initial_clearance', 'markets cleared', [
    'we are approaching these markets:',
    ...approached.map((market) => `- ${market.name} (${market.program})`),
  ])
}

export function question(who: Correspondence, market: Market, text: string): MessageInit {
  return outbound(who, 'question', `question from ${market.name}`, ['the underwriter asks:', text])
}

export function reply(who: Correspondence, text: string, attachments: readonly Attachment[]): MessageInit {
  return {
    channel: 'email',
    direction: 'inbound',
    kind: 'broker_reply',
    subject: `Re: ${who.insuredName}`,
    body_text: `${text}\n\n${who.producer.name}`,
    from: who.producer.email,
    to: [SERVICE_ADDRESS],
    attachments,
    in_reply_to: who.rootMessageId,
  }
}

export function planUpdate(who: Correspondence, news: readonly string[]): MessageInit {
  return outbound(who, 'market_plan_update', 'market plan update', ['where things stand:', ...news.map((line) => `- ${line}`)])
}

export function quoteDelivery(who: Correspondence, market: Market, premium: string, attachments: readonly Attachment[]): MessageInit {
  return {
    ...outbound(who, 'quote_delivery', `quote from ${market.name}`, [`${market.name} offers ${premium}. The quote is attached.`]),
    attachments,
  }
}

export function bindConfirmation(who: Correspondence, market: Market): MessageInit {
  return outbound(who, 'bind_confirmation', 'bound', [`coverage with ${market.name} is bound. The binder follows.`])
}

/** @returns a question to the portal's assistant and its answer. Chat messages have no subject and no addresses. */
export function chat(asked: string, answered: string): [MessageInit, MessageInit] {
  const row = { channel: 'chat', kind: 'chat' } as const
  return [
    { ...row, direction: 'inbound', body_text: asked },
    { ...row, direction: 'outbound', body_text: answered },
  ]
}

/** @param finalized whether the file is a finalized document. If false, `download_path` is null. */
export function attachment(prng: Prng, name: string, finalized: boolean): Attachment {
  return { name, download_path: finalized ? `/broker/finalized-documents/${prng.uuid()}/pdf` : null }
}
