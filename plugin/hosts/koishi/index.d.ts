import { Context, Schema, Service, Session } from 'koishi';
import { Correction, Result } from './node/index';

declare module 'koishi' {
  interface Context {
    replygate: Replygate;
  }
}

declare class Replygate extends Service {
  constructor(ctx: Context, config: Replygate.Config);
  /** What the model is to be given for an answer to this session. */
  contract(session: Session): { schema: any; instruction: string };
  /** A model's raw answer on its whole way: judged, corrected, paced, delivered. */
  reply(
    session: Session,
    text: string,
    /** Asks the same model once more, where only the form was wrong; its text. */
    complete?: (request: Correction) => string | Promise<string>,
  ): Promise<Result>;
}

declare namespace Replygate {
  interface Config {
    /** The configuration, from Koishi's folder. */
    config: string;
    /** With several bots: QQ number -> a name under `endpoints:`. */
    endpoints: { [account: string]: string };
  }
  const Config: Schema<Config>;
}

export = Replygate;
