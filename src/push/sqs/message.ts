import { hash } from 'node:crypto'
import type { SendMessageBatchRequestEntry } from '@aws-sdk/client-sqs'
import { changeMessage } from '../contract/change-message.ts'
import type { PushItem } from '../contract/delivery.ts'

export interface QueueMessage {
  /** The message without `Id`, its number in a batch. */
  readonly entry: Omit<SendMessageBatchRequestEntry, 'Id'>
  /** Size as the queue counts it: body and attributes. */
  readonly bytes: number
}

/** Limit of a message and of a batch, in bytes. A queue's own limit may be lower. */
export const MOST_BYTES = 1_048_576
export const MOST_MESSAGES = 10
const GROUP_LENGTH = 128

const ATTRIBUTE = 'message-id'
const TYPE = 'String'

/**
 * Characters that a queue rejects. In JSON, these characters only occur inside strings, where they can be escaped. JSON
 * made by this program already escapes control characters and lone surrogates. Stored JSON from other sources may
 * contain them.
 */
const REFUSED = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu

/**
 * @returns the queue message for a change.
 * @param isFifo whether the queue is FIFO.
 */
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

/** @returns the group whose messages stay in order: one per submission, and one per account for its other changes. */
function groupOf({ account, submissionId }: PushItem): string {
  const name = submissionId === null ? account : `${account}/${submissionId}`
  // A group name allows letters, digits, and punctuation. A hash replaces other or longer names.
  return /^[\x21-\x7e]+$/.test(name) && name.length <= GROUP_LENGTH ? name : hash('sha256', name)
}

/** @returns batches within the queue's limits of messages and bytes. */
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
