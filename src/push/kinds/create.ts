import type { DestinationConfig } from '../../config/config.ts'
import type { DeliveryKind, KindContext } from '../contract/delivery.ts'
import { createAms360 } from './ams360.ts'
import { createFile } from './file.ts'
import { createHttp } from './http.ts'
import { createQueue } from './queue.ts'
import { createWebhook } from './webhook.ts'

/** @returns the kind that delivers to `destination`. Connects on first use. */
export function createKind(destination: DestinationConfig, context: KindContext): DeliveryKind {
  switch (destination.kind) {
    case 'webhook':
      return createWebhook(destination, context)
    case 'queue':
      return createQueue(destination, context)
    case 'http':
      return createHttp(destination, context)
    case 'file':
      return createFile(destination, context)
    case 'ams360':
      return createAms360(destination, context)
  }
}
