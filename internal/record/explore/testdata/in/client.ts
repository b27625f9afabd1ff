import { z } from "zod";
export interface Client {
  get(path: string): Promise<unknown>;
}
export type Options = { retries: number };
export const connect = async (url: string): Promise<Client> => {
  throw new Error(url);
};
const unused = 3;
export default class Pool {
  size = 4;
}
