import { hash } from 'node:crypto'
import type { SendMessageBatchRequestEntry } from '@aws-sdk/client-sqs'
import { changeMessage } from '../contract/change-message.ts'
import type { PushItem } from '../contract/delivery.ts'

export interface QueueMessage {
  /** The batch entry, without `Id`. `Id` is the message's position in its batch. */
  readonly entry: Omit<SendMessageBatchRequestEntry, 'Id'>
  /** Size as the queue counts it: body and attributes. */
  readonly bytes: number
}

/** Size limit of a message and of a batch, in bytes. A queue's own limit may be lower. */
export const MOST_BYTES = 1_048_576
export const MOST_MESSAGES = 10
const GROUP_LENGTH = 128

const ATTRIBUTE = 'message-id'
const TYPE = 'String'

/**
 * Characters that a queue rejects. JSON has these characters only inside strings, where they can be escaped.
 * `JSON.stringify` doesn't escape U+FFFE and U+FFFF. The stored JSON of a row may contain other unescaped characters
 * that a queue rejects.
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

/**
 * @returns the FIFO group, whose messages stay in order. Each submission has a group. Changes without a submission
 * share one group per account.
 */
function groupOf({ account, submissionId }: PushItem): string {
  const name = submissionId === null ? account : `${account}/${submissionId}`
  // A group name may contain only letters, digits, and punctuation. A hash replaces names with other characters, and
  // names that are too long.
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
