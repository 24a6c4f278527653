import { hash } from 'node:crypto'
import type { SendMessageBatchRequestEntry } from '@aws-sdk/client-sqs'
import { changeMessage } from '../contract/change-message.ts'
import type { PushItem } from '../contract/delivery.ts'

/** A message for a queue. */
export interface QueueMessage {
  /** It, but for its number in a batch. */
  readonly entry: Omit<SendMessageBatchRequestEntry, 'Id'>
  /** As the queue counts: body and attributes. */
  readonly bytes: number
}

/** Largest message, and largest batch, in bytes. A queue may be set to less. */
export const MOST_BYTES = 1_048_576
/** Most messages of a batch. */
export const MOST_MESSAGES = 10
/** Longest name of a group. */
const GROUP_LENGTH = 128

const ATTRIBUTE = 'message-id'
const TYPE = 'String'

/**
 * Characters that a queue refuses. In JSON they can only stand within a text, where they may be escaped. Characters below U+0020 and halves of
 * a pair are escaped in all JSON that is made here; a change that was stored otherwise is mended too.
 */
const REFUSED = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu

/** @returns the message of a change. @param isFifo whether the queue has groups and ids. */
export function queueMessage(item: PushItem, isFifo: boolean): QueueMessage {
  const MessageBody = changeMessage(item).replace(REFUSED, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
  const { messageId } = item
  return {
    entry: {
      MessageBody,
      MessageAttributes: { [ATTRIBUTE]: { DataType: TYPE, StringValue: messageId } },
      ...(isFifo && { MessageGroupId: groupOf(item), MessageDeduplicationId: messageId }),
    },
    bytes: Buffer.byteLength(MessageBody) + ATTRIBUTE.length + TYPE.length + Buffer.byteLength(messageId),
  }
}

/** The group, whose messages stay in order: a submission, or what an account has beside its submissions. */
function groupOf({ account, submissionId }: PushItem): string {
  const name = submissionId === null ? account : `${account}/${submissionId}`
  // Letters, digits and punctuation; a name that is too long or holds anything else is told by its hash.
  return /^[\x21-\x7e]+$/.test(name) && name.length <= GROUP_LENGTH ? name : hash('sha256', name)
}

/** @returns the messages in batches, each of at most so many messages and bytes as a queue takes. */
export function inBatches(messages: readonly QueueMessage[]): QueueMessage[][] {
  const batches: QueueMessage[][] = []
  let bytes = 0
  for (const message of messages) {
    const last = batches.at(-1)
    const isFull = last === undefined || last.length === MOST_MESSAGES || bytes + message.bytes > MOST_BYTES
    if (isFull) batches.push([message])
    else last.push(message)
    bytes = isFull ? message.bytes : bytes + message.bytes
  }
  return batches
}
